/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf/image: a private copy of a file that fills itself block by block as bytes are asked for.
 * Not a mapping of the file: its owner may truncate it under us, and that would be a SIGBUS here.
 * What was handed out once never changes or moves, whatever happens to the file. Memory that may be
 * written is what was asked for, however large the file is.
 */
#ifndef ALYS_ELF_IMAGE_H
#define ALYS_ELF_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Why bytes that lie within the file's size were not read. */
enum image_refusal { IMAGE_FINE, IMAGE_TOO_LARGE, IMAGE_HOLES };

struct image {
	int fd; /* borrowed */
	uint64_t size;
	uint8_t *data;
	uint8_t *have;              /* a byte per block: read already */
	uint64_t left;              /* bytes that may still be read: so much of one file is worth reading */
	bool holes;                 /* less is stored than its size */
	enum image_refusal refusal; /* the first one */
};

int image_open(struct image *im, int fd);
int image_of_bytes(struct image *im, const void *bytes, uint64_t n); /* copies them */
void image_close(struct image *im);
/*
 * n bytes at offset, borrowed until image_close; NULL when the file has not got them, when they are more than any part
 * of a program is, or when most of them are holes: nobody stores a table of zeros, but whoever wants it to be read.
 */
const uint8_t *image_at(struct image *im, uint64_t offset, uint64_t n);

#endif
