/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/probe_file: see probe_file.h. An overlay, as used by containers, stores no files itself: each mount shows the
 * files of its layers under a device number of its own.
 */
#include "kernel/probe_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* A handle for comparison only, so every file system has one; include/uapi/linux/fcntl.h of 6.5. */
#define HANDLE_FID 0x200
/* An overlay's handle: 3 bytes, then struct ovl_fb with the handle of the stored file, fs/overlayfs/overlayfs.h. */
#define OVERLAY_TYPE 0xf8
#define OVERLAY_MAGIC 0xfb

struct overlay_handle {
	uint8_t pad[3], version, magic, len, flags, type, uuid[16], stored[];
};

#define INO_GENERATION 1 /* FILEID_INO32_GEN */

union handle {
	struct file_handle head;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

#define FNV_START 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ at[i]) * FNV_PRIME;
	return hash;
}

/* Includes the change time: a mount that modifies the file gets a copy of its own under the same handle, made later. */
static uint64_t number_of(int type, const uint8_t *bytes, size_t n, const struct stat *st)
{
	uint64_t hash = mix(FNV_START, &type, sizeof(type));
	hash = mix(hash, &st->st_ctim.tv_sec, sizeof(st->st_ctim.tv_sec));
	hash = mix(hash, &st->st_ctim.tv_nsec, sizeof(st->st_ctim.tv_nsec));
	return mix(hash, bytes, n);
}

/*
 * An image that is mounted twice is two file systems. If neither the file system's uuid nor the file's generation is in
 * the handle, as with squashfs, they cannot be distinguished.
 */
static bool is_unique(const struct overlay_handle *o, size_t n)
{
	static const uint8_t none[16];
	return memcmp(o->uuid, none, sizeof(none)) || o->type != INO_GENERATION || (n >= 8 && memcmp(o->stored + 4, none, 4));
}

static uint64_t stored_under(const union handle *h, const struct stat *st)
{
	const struct overlay_handle *o = (const void *)h->head.f_handle;
	size_t n = h->head.handle_bytes - sizeof(*o);
	if (h->head.handle_bytes <= sizeof(*o) || h->head.handle_type != OVERLAY_TYPE || o->version || o->magic != OVERLAY_MAGIC)
		return 0;
	return is_unique(o, n) ? number_of(o->type, o->stored, n, st) : 0;
}

/* On an overlay, the upper bits of inode numbers identify the layer's file system, fs/overlayfs/inode.c. */
static uint64_t attributes_hash_of(const struct stat *st)
{
	uint32_t ino = (uint32_t)st->st_ino;
	uint64_t hash = mix(FNV_START, &ino, sizeof(ino));
	hash = mix(hash, &st->st_size, sizeof(st->st_size));
	hash = mix(hash, &st->st_mtim, sizeof(st->st_mtim));
	return mix(hash, &st->st_ctim, sizeof(st->st_ctim));
}

struct probe_file probe_file_of(int fd)
{
	union handle h = { .head.handle_bytes = MAX_HANDLE_SZ };
	struct statfs fs;
	struct stat st;
	int mount;
	if (fstat(fd, &st))
		return (struct probe_file){ 0 };
	struct probe_file f = { .dev = st.st_dev, .ino = st.st_ino, .attributes_hash = attributes_hash_of(&st) };
	f.overlay = !fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC;
	if (!name_to_handle_at(fd, "", &h.head, &mount, AT_EMPTY_PATH | HANDLE_FID))
		f.stored = f.overlay ? stored_under(&h, &st)
				     : number_of(h.head.handle_type, h.head.f_handle, h.head.handle_bytes, &st);
	return f;
}

bool probe_file_same(struct probe_file a, struct probe_file b)
{
	if (a.dev == b.dev && a.ino == b.ino)
		return true;
	if (!a.overlay && !b.overlay)
		return false;
	/* In doubt the same: better to miss a file than to record each of its calls twice. */
	return a.stored && b.stored ? a.stored == b.stored : a.attributes_hash == b.attributes_hash;
}

bool probe_file_is_certain(struct probe_file a, struct probe_file b)
{
	return (a.dev == b.dev && a.ino == b.ino) || (a.stored && b.stored);
}
