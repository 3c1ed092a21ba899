/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as a file with unwind information: finds the section and compiles its table. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf.h"
#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct err err = { 0 };
	struct elf *e = write(fd, data, size) == (ssize_t)size ? elf_open(fd, "file", &err) : NULL;
	struct unwind_table *t = e ? unwind_compile(e, &err) : NULL;
	if (e && !t == !err.code)
		abort();
	if (t && t->pages[t->pages_cnt] != t->rows_cnt)
		abort();
	unwind_free(t);
	elf_close(e);
	close(fd);
	return 0;
}
