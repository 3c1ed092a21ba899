/* SPDX-License-Identifier: Apache-2.0 */
/* An arbitrary file as a program, whose structures' fields are read. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heapgraph/fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fields f = { 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	struct elf *e = elf_open(fd, "fuzz", NULL);
	if (e)
		fields_read(&f, e);
	uint64_t within;
	for (size_t i = 0; i < f.classes_cnt; i++)
		fields_at(&f, &f.classes[i], f.classes[i].size / 2, &within);
	fields_free(&f);
	elf_close(e);
	close(fd);
	return 0;
}
