/* SPDX-License-Identifier: Apache-2.0 */
/* collector/typenames: type names of a process, from its program or from a file; see collector.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "access/infile.h"
#include "base/buf.h"
#include "collector/collector.h"

#define FILE_MAX (256u << 20)
#define PIECE (256u << 10)

/* Works for pipes, too. */
static int read_whole(const char *path, struct buf *out, struct err *err)
{
	int fd = infile_open_any(path, err);
	ssize_t got = 1;
	if (fd < 0)
		return fd;
	while (got > 0 && out->len <= FILE_MAX) {
		uint8_t *room = buf_room(out, PIECE);
		got = room ? read(fd, room, PIECE) : -1;
		out->len += got > 0 ? (size_t)got : 0;
	}
	int rc = got < 0 ? err_set(err, out->failed ? ENOMEM : EIO, "cannot read %s: %s", path, strerror(errno)) : 0;
	if (out->len > FILE_MAX)
		rc = err_set(err, EFBIG, "%s is larger than any list of types: was the right file given?", path);
	close(fd);
	return rc;
}

static int read_list(struct types *t, const char *path, struct err *err)
{
	struct buf text = { 0 };
	int rc = read_whole(path, &text, err);
	if (!rc)
		rc = types_parse(t, text.data, text.len, path, err);
	buf_free(&text);
	return rc;
}

static int note_crystal(void *ctx, const struct elf_symbol *s)
{
	(void)ctx;
	return s->defined && !strncmp(s->name, "__crystal_", strlen("__crystal_"));
}

bool collector_is_crystal(const struct collector *c)
{
	uint64_t bias;
	int fd;
	struct elf *program = collector_program(c, &fd, &bias);
	bool is = program && elf_each_symbol(program, note_crystal, NULL);
	elf_close(program);
	if (fd >= 0)
		close(fd);
	return is;
}

int collector_types(struct collector *c, const char *type_ids, struct types *out, struct err *err)
{
	uint64_t bias;
	int fd, rc = types_begin(out);
	struct elf *program = rc ? NULL : collector_program(c, &fd, &bias);
	if (program) {
		rc = types_read_symbols(out, &c->memory, program, bias);
		elf_close(program);
		close(fd);
	}
	if (rc)
		rc = err_set(err, ENOMEM, "out of memory");
	else if (type_ids)
		rc = read_list(out, type_ids, err);
	if (rc)
		types_free(out);
	return rc;
}
