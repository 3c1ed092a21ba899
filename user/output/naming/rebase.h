/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming/rebase: old traces put right. Where text does not begin at a page of its own (lld, mold), they took
 * the page for one of the segment before, and have all its addresses too low. Which ones only the file can tell.
 */
#ifndef ALYS_NAMING_REBASE_H
#define ALYS_NAMING_REBASE_H

#include "catalog/catalog.h"
#include "elf/elf.h"

/* The mappings of a module, of which e is the file, and all frames in them. 0 or -ENOMEM. */
int rebase_module(struct catalog *c, struct module_id module, const struct elf *e);

#endif
