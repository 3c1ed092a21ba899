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
#define BLOCK_SZ    (1ull << BLOCK_SHIFT)
#define FILE_MAX    (64ull << 30) /* address space only; a debug build of a browser has 8 GiB */
#define PIECE_MAX   (1ull << 30)  /* no section worth reading is larger; a sparse file's may be */

int image_open(struct image *im, int fd)
{
	struct stat st;
	memset(im, 0, sizeof(*im));
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return -ENOEXEC;
	if ((uint64_t)st.st_size > FILE_MAX)
		return -EFBIG;
	im->fd = fd;
	im->size = (uint64_t)st.st_size;
	im->have = calloc((im->size >> BLOCK_SHIFT) + 1, 1);
	if (!im->have)
		return -ENOMEM;
	im->data = mmap(NULL, im->size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (im->data == MAP_FAILED) {
		im->data = NULL;
		image_close(im);
		return -ENOMEM;
	}
	return 0;
}

void image_close(struct image *im)
{
	if (im->data)
		munmap(im->data, im->size);
	free(im->have);
	memset(im, 0, sizeof(*im));
}

static bool fill(struct image *im, uint64_t block)
{
	uint64_t at = block << BLOCK_SHIFT;
	uint64_t left = im->size - at < BLOCK_SZ ? im->size - at : BLOCK_SZ;
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
	if (n > PIECE_MAX || offset > im->size || n > im->size - offset)
		return NULL;
	uint64_t end = (offset + n + BLOCK_SZ - 1) >> BLOCK_SHIFT;
	for (uint64_t b = offset >> BLOCK_SHIFT; n && b < end; b++)
		if (!im->have[b] && !fill(im, b))
			return NULL;
	return im->data + offset;
}
