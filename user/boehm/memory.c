/* boehm/memory: see memory.h. */
#include "boehm/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/rights.h"

/* One range: a file is not read in several places at a time. */
static int64_t read_lent(struct memory *m, const struct memory_range *r, uint8_t *out)
{
	char path[32];
	if (!r->n)
		return 0;
	if (!m->lent) {
		snprintf(path, sizeof(path), "/proc/%u/mem", m->through ?: m->tgid);
		int fd = rights_open(path, O_RDONLY);
		if (fd < 0)
			return fd == -ENOENT ? -ESRCH : fd;
		m->lent = fd + 1;
	}
	ssize_t got = pread(m->lent - 1, out, r->n, (off_t)r->addr);
	/* It gives nothing when the process has ended, and EIO where nothing is mapped. */
	return got > 0 ? got : !got ? -ESRCH : errno == EIO ? -EFAULT : -errno;
}

void memory_close(struct memory *m)
{
	if (m->lent)
		close(m->lent - 1);
	m->lent = 0;
}

/* Bytes that could be read from the front of the ranges, or -errno. */
static int64_t read_some(struct memory *m, const struct memory_range *r, size_t cnt, uint8_t *out, size_t total)
{
	struct iovec local = { out, total }, remote[IOV_MAX];
	m->reads++;
	m->bytes += total;
	if (m->source)
		return m->source->read(m->source->ctx, r->addr, out, r->n);
	if (rights_lent())
		return read_lent(m, r, out);
	for (size_t i = 0; i < cnt; i++)
		remote[i] = (struct iovec){ (void *)(uintptr_t)r[i].addr, r[i].n };
	ssize_t got = process_vm_readv((pid_t)(m->through ?: m->tgid), &local, 1, remote, cnt, 0);
	return got < 0 ? -errno : got;
}

int memory_read(struct memory *m, uint64_t addr, void *out, size_t n)
{
	struct memory_range r = { addr, n };
	if (!n)
		return 0;
	int64_t got = read_some(m, &r, 1, out, n);
	return got < 0 ? (int)got : (size_t)got == n ? 0 : -EFAULT;
}

/* Ranges of one system call; a test's source takes one at a time. */
static size_t batch(const struct memory *m, const struct memory_range *r, size_t cnt, size_t *total)
{
	size_t n = 0;
	*total = 0;
	while (n < cnt && n < (m->source || rights_lent() ? 1 : IOV_MAX))
		*total += r[n++].n;
	return n;
}

/* Whole ranges within the first `got` bytes; *bytes is their length. */
static size_t whole_ranges(const struct memory_range *r, size_t cnt, size_t got, size_t *bytes)
{
	size_t n = 0;
	*bytes = 0;
	while (n < cnt && *bytes + r[n].n <= got)
		*bytes += r[n++].n;
	return n;
}

int memory_read_ranges(struct memory *m, const struct memory_range *r, size_t cnt, void *out, size_t *unreadable)
{
	uint8_t *at = out;
	size_t bad = 0;
	while (cnt) {
		size_t total, bytes, n = batch(m, r, cnt, &total);
		int64_t got = read_some(m, r, n, at, total);
		if (got < 0 && got != -EFAULT)
			return (int)got;
		size_t done = whole_ranges(r, n, got < 0 ? 0 : (size_t)got, &bytes);
		at += bytes;
		if (done < n) {
			memset(at, 0, r[done].n);
			at += r[done++].n;
			bad++;
		}
		r += done;
		cnt -= done;
	}
	if (unreadable)
		*unreadable = bad;
	return 0;
}
