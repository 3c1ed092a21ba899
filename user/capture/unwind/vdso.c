/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/vdso: the code page that the kernel maps into every process. A signal may interrupt it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/unwind.h"

/* Size of the mapping that begins at the vdso; it is not known otherwise. */
static size_t vdso_size(uint64_t start)
{
	char line[256];
	uint64_t lo, hi;
	size_t size = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	while (f && !size && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &lo, &hi) == 2 && lo == start)
			size = hi - lo;
	}
	if (f)
		fclose(f);
	return size;
}

/* Copies the vdso into a file, because elf reads files. */
static int vdso_file(void)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	size_t size = start ? vdso_size(start) : 0;
	int fd = size ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	if (fd >= 0 && write(fd, (const void *)start, size) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

struct unwind_table *unwind_compile_vdso(struct err *err)
{
	int fd = vdso_file();
	if (fd < 0) {
		err_set(err, ENODATA, "no vdso");
		return NULL;
	}
	struct elf *e = elf_open(fd, "[vdso]", err);
	struct unwind_table *t = e ? unwind_compile(e, err) : NULL;
	elf_close(e);
	close(fd);
	return t;
}
