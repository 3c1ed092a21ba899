/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/depth: how much is looked up for an address. */
#ifndef ALYS_DWARF_DEPTH_H
#define ALYS_DWARF_DEPTH_H

enum symbol_depth {
	SYMBOL_DEPTH_NAME, /* function names from symbol tables only */
	SYMBOL_DEPTH_FULL, /* names, files, lines and inlined calls */
};

#endif
