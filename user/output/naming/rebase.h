/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming/rebase: corrects old traces. If text does not start on a page of its own (lld, mold), they took the page for
 * one of the previous segment, and all its addresses are too low. Only the file tells which.
 */
#ifndef ALYS_NAMING_REBASE_H
#define ALYS_NAMING_REBASE_H

#include "catalog/catalog.h"
#include "elf/elf.h"

/* Corrects the mappings of a module, of which e is the file, and all frames in them. 0 or -ENOMEM. */
int rebase_module(struct catalog *c, struct module_id module, const struct elf *e);

#endif
