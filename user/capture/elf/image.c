/* SPDX-License-Identifier: Apache-2.0 */
/* elf/image: see image.h. */
#include "elf/image.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_SHIFT 16
#define BLOCK_SZ (1ull << BLOCK_SHIFT)
#define FILE_MAX (64ull << 30) /* address space only; a debug build of a browser has 8 GiB */
/* Chromium's largest table has 30 MB; names of a program with a gigabyte of debug information take 150. */
#define PIECE_MAX (256ull << 20)
#define ALL_MAX (512ull << 20)
/* Smaller pieces may be holes: linkers leave some between sections, and so few zeros cost little. */
#define HOLE_MIN (1ull << 20)
#define EXTENTS_MAX 64

static int reserve(struct image *im, uint64_t size)
{
	if (!size)
		return -ENOEXEC;
	if (size > FILE_MAX)
		return -EFBIG;
	im->size = size;
	im->left = ALL_MAX;
	im->have = calloc((size >> BLOCK_SHIFT) + 1, 1);
	if (!im->have)
		return -ENOMEM;
	im->data = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (im->data == MAP_FAILED) {
		im->data = NULL;
		image_close(im);
		return -ENOMEM;
	}
	return 0;
}

int image_open(struct image *im, int fd)
{
	struct stat st;
	*im = (struct image){ .fd = fd };
	if (fstat(fd, &st))
		return -errno;
	im->holes = (uint64_t)st.st_blocks * 512 < (uint64_t)st.st_size;
	return S_ISREG(st.st_mode) && st.st_size > 0 ? reserve(im, (uint64_t)st.st_size) : -ENOEXEC;
}

int image_of_bytes(struct image *im, const void *bytes, uint64_t n)
{
	*im = (struct image){ .fd = -1 };
	int rc = reserve(im, n);
	if (rc)
		return rc;
	if (mprotect(im->data, n, PROT_READ | PROT_WRITE)) {
		image_close(im);
		return -ENOMEM;
	}
	memcpy(im->data, bytes, n);
	memset(im->have, 1, (n >> BLOCK_SHIFT) + 1);
	return 0;
}

void image_close(struct image *im)
{
	if (im->data)
		munmap(im->data, im->size);
	free(im->have);
	memset(im, 0, sizeof(*im));
}

/*
 * Number of bytes that are stored. A compressing file system has fewer blocks than bytes, but no holes: it reports
 * everything as data, as does one without support for holes.
 */
static uint64_t stored(int fd, uint64_t offset, uint64_t n)
{
	uint64_t sum = 0, end = offset + n;
	for (int i = 0; i < EXTENTS_MAX && offset < end; i++) {
		off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
		if (data < 0 && errno != ENXIO)
			return n;
		if (hole < 0 || (uint64_t)data >= end)
			break;
		sum += ((uint64_t)hole < end ? (uint64_t)hole : end) - (uint64_t)data;
		offset = (uint64_t)hole;
	}
	return sum;
}

static bool refuse(struct image *im, enum image_refusal why)
{
	im->refusal = im->refusal ?: why;
	return false;
}

static bool may_read(struct image *im, uint64_t offset, uint64_t n)
{
	if (n > PIECE_MAX)
		return refuse(im, IMAGE_TOO_LARGE);
	if (im->holes && n >= HOLE_MIN && stored(im->fd, offset, n) < n / 2)
		return refuse(im, IMAGE_HOLES);
	return true;
}

static bool fill(struct image *im, uint64_t block)
{
	uint64_t at = block << BLOCK_SHIFT;
	uint64_t left = im->size - at < BLOCK_SZ ? im->size - at : BLOCK_SZ;
	if (left > im->left)
		return refuse(im, IMAGE_TOO_LARGE);
	im->left -= left;
	if (mprotect(im->data + at, left, PROT_READ | PROT_WRITE))
		return false;
	while (left) {
		ssize_t n = pread(im->fd, im->data + at, left, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (uint64_t)n;
		left -= (uint64_t)n;
	}
	im->have[block] = 1;
	return true;
}

const uint8_t *image_at(struct image *im, uint64_t offset, uint64_t n)
{
	if (offset > im->size || n > im->size - offset || !may_read(im, offset, n))
		return NULL;
	uint64_t end = (offset + n + BLOCK_SZ - 1) >> BLOCK_SHIFT;
	for (uint64_t b = offset >> BLOCK_SHIFT; n && b < end; b++)
		if (!im->have[b] && !fill(im, b))
			return NULL;
	return im->data + offset;
}
