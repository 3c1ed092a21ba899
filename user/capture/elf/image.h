/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf/image: a private copy of a file, filled block by block as bytes are requested. Not an mmap: the owner may
 * truncate the file, which would be a SIGBUS here. Bytes once handed out never change or move. Memory use depends on
 * what is requested, not on the file's size.
 */
#ifndef ALYS_ELF_IMAGE_H
#define ALYS_ELF_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Why bytes within the file's size were not read. */
enum image_refusal { IMAGE_FINE, IMAGE_TOO_LARGE, IMAGE_HOLES };

struct image {
	int fd; /* borrowed */
	uint64_t size;
	uint8_t *data;
	uint8_t *have;              /* one byte per block: already read */
	uint64_t left;              /* bytes that may still be read: limit per file */
	bool holes;                 /* sparse: less is stored than its size */
	enum image_refusal refusal; /* the first one */
};

int image_open(struct image *im, int fd);
int image_of_bytes(struct image *im, const void *bytes, uint64_t n); /* copies them */
void image_close(struct image *im);
/*
 * n bytes at offset, borrowed until image_close; NULL if the file is shorter, if they are more than any part of a
 * program needs, or if most of them are holes: real tables are not sparse, but a hostile file's may be.
 */
const uint8_t *image_at(struct image *im, uint64_t offset, uint64_t n);

#endif
