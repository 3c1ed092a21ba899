/*
 * elf/image: a private copy of a file that fills itself block by block as bytes are asked for.
 * Not a mapping of the file: its owner may truncate it under us, and that would be a SIGBUS here.
 * What was handed out once never changes or moves, whatever happens to the file. Memory that may be
 * written is what was asked for, however large the file is.
 */
#ifndef ALYS_ELF_IMAGE_H
#define ALYS_ELF_IMAGE_H

#include <stdint.h>

struct image {
	int fd; /* borrowed */
	uint64_t size;
	uint8_t *data;
	uint8_t *have; /* a byte per block: read already */
};

int image_open(struct image *im, int fd);
int image_of_bytes(struct image *im, const void *bytes, uint64_t n); /* copies them */
void image_close(struct image *im);
/* n bytes at offset, borrowed until image_close; NULL when the file has not got them. */
const uint8_t *image_at(struct image *im, uint64_t offset, uint64_t n);

#endif
