/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/packed: see packed.h. */
#include "dwarf/packed.h"

#include <lzma.h>

#include "base/buf.h"

#define UNPACKED_MAX (64u << 20) /* decompressed size; a browser's has 10 MiB */
#define DECODER_MAX (96u << 20)  /* memory limit: 1.5 times what xz -9 needs */
#define PIECE (1u << 18)

static bool unpack(struct buf *out, const uint8_t *bytes, size_t n)
{
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret rc = lzma_stream_decoder(&s, DECODER_MAX, 0);
	s.next_in = bytes;
	s.avail_in = n;
	while (rc == LZMA_OK && out->len < UNPACKED_MAX && (s.next_out = buf_room(out, PIECE))) {
		s.avail_out = PIECE;
		rc = lzma_code(&s, LZMA_FINISH);
		out->len += PIECE - s.avail_out;
	}
	lzma_end(&s);
	return rc == LZMA_STREAM_END;
}

struct elf *packed_open(const struct elf *e)
{
	struct buf bytes = { 0 };
	size_t n;
	const uint8_t *packed = elf_section(e, ".gnu_debugdata", &n, NULL);
	struct elf *inner = packed && unpack(&bytes, packed, n) && bytes.len
				    ? elf_open_bytes(bytes.data, bytes.len, ".gnu_debugdata", NULL)
				    : NULL;
	buf_free(&bytes);
	return inner;
}
