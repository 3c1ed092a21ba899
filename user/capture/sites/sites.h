/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites: where probes go in one ELF file: for each function of an allocator an entry site and its exits, with reasons, as the finder
 * has found them (finder/find.h). Names are copied, so a list outlives the elf.
 */
#ifndef ALYS_SITES_H
#define ALYS_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocators/allocators.h"
#include "alys.h"
#include "base/buf.h"
#include "base/err.h"
#include "beam/block_types.h"
#include "beam/process_names.h"
#include "code/counter.h"
#include "code/tcache.h"
#include "sites/reason.h"

enum site_state {
	SITE_PROBED,
	SITE_COVERED, /* all its calls are seen at another site */
	SITE_REFUSED, /* cannot be probed */
};

/* Behind a function's entry, where its arguments are still in registers: a probe there can stand for one at the entry. */
struct site_place {
	uint64_t vaddr, offset; /* 0 = there is none */
	uint32_t cfa_off;
	uint16_t into, fp_off;      /* as in struct alys_site */
	uint8_t size_arg, kind_arg; /* likewise, arg[0] and kind_arg */
};

/* An address where results are read. Several functions may share one: pairing is by CFA. */
struct site_exit {
	uint64_t vaddr, offset;
	uint32_t cfa_off;
	uint8_t reg; /* ALYS_REG_* */
	bool emulated;
	bool plain; /* a `ret`, or a jump that stands for one: used also when nothing cheaper is */
	struct exit_reason why;
	/* A site (index + 1) whose whole calls are seen here, 0 = none; where their arguments are. */
	uint32_t whole_call_of;
	struct site_place whole;
	bool takes;  /* ALYS_SITE_TAKES */
	char in[40]; /* the function that contains it, truncated; "" = unnamed */
	uint64_t in_off;
};

struct site {
	const struct allocator *row;
	uint16_t row_no;
	enum alloc_family family; /* for plain names, the provider's */
	enum site_state state;
	uint64_t func, size; /* of the function, as ELF addresses */
	/* The entry site, if probed. */
	uint64_t vaddr, offset;
	uint32_t cfa_off;
	bool emulated;
	bool unchanged;           /* sp and the return address are as the caller left them */
	uint16_t into, fp_off;    /* as in struct alys_site */
	uint8_t reg;              /* of a refill: ALYS_REG_* that holds the list's address */
	uint8_t arg[3], kind_arg; /* as in the row, unless the site follows a move between registers */
	bool multiplied;          /* the site follows the multiplication of both arguments: arg[0] has the product */
	/* A return probe is safe here, and finds its return address at the entry site's sp. */
	bool return_probe;
	uint32_t *exits; /* indices into the list's exits */
	size_t exits_cnt, exits_cap;
	struct {
		struct site_place at; /* none: no exits see whole calls */
		/* Exits of the function called there, if probed anyway: indices; then it needs no others. */
		uint32_t *exits;
		size_t exits_cnt, exits_cap;
	} late;         /* entry for calls that these exits miss */
	bool whole;     /* places that see whole calls are used, and the late entry */
	bool at_callee; /* the exits are those of late */
	bool leaf;      /* calls no other probed function */
	bool jumps;     /* may end in a jump to one, in this file or another */
	/* Most results can be read from a free list at the entry; the others leave through slow_exits. */
	bool predicted;
	uint32_t *slow_exits;
	size_t slow_exits_cnt, slow_exits_cap;
	bool cached; /* with a return probe: most results are known at the entry, from the list's tcache or the old block */
	/* Of a probe that the file itself defines (USDT). */
	struct alys_note note;
	uint64_t semaphore; /* file offset of its counter of tracers, 0 = none */
	/* Truncated: where its note says that the arguments are; of a function that the user named, its own name. */
	char said[64];
	uint32_t passed_on;      /* jumps to functions that are probed themselves, which return the result */
	uint32_t presumed;       /* jumps through pointers, followed to where these point at first */
	uint32_t lost;           /* paths that could not be followed: results leave unseen */
	struct entry_reason why; /* of the entry; or which probe covers it; or why it is refused */
	struct lost_reason lost_why;
};

struct site_list {
	struct site *sites;
	size_t sites_cnt, sites_cap;
	struct site_exit *exits; /* each address once */
	size_t exits_cnt, exits_cap;
	uint64_t text_lo, text_hi; /* the collector's own code; see sites_collect */
	uint64_t gc_no_vaddr;
	struct byte_counter counter; /* of a collector */
	enum sample_at at;           /* call or refill */
	bool takes_lists;            /* with refills: code of the file takes over libgc's lists, see finder/list_users.h */
	bool program;                /* not a library: cannot be loaded alone */
	struct alys_beam beam;       /* of an Erlang VM */
	struct beam_types types;     /* of its blocks */
	struct beam_atoms atoms;     /* of what its processes are called */
	struct alys_lists lists;     /* if a site is predicted, or with refills */
	struct tcache_place tcache;  /* if a site is cached */
	struct alys_range wrappers[ALYS_MAX_WRAPPERS]; /* in that code, but called for the program */
	struct alys_range code;                        /* of the file */
	uint64_t own_frees[ALYS_MAX_OWN_FREES];        /* see finder/ownfrees.h */
	struct alys_range inner[ALYS_MAX_INNER];       /* code below operator new: its calls of probed functions are its own */
	uint64_t own;                                  /* bit i: function i of allocators/own matches here */
	const char *provider;                          /* of malloc, free...; NULL = unknown, or not in this file */
};

void sites_free(struct site_list *l);
/* Is there a collector in the file? Its code may begin at address 0. */
static inline bool sites_collect(const struct site_list *l)
{
	return l->text_hi != 0;
}
/* Bit i: a function is probed because of function i of allocators/own. */
uint64_t sites_own_probed(const struct site_list *l);
/* Equal for equal lists of one file. */
uint64_t sites_digest(const struct site_list *l);
/* Converts to the structs that BPF reads: the file, an entry, an exit; `object` is the file's index. */
void sites_fill_object(const struct site_list *l, struct alys_object *out);
void sites_fill_entry(const struct site *s, uint32_t object, struct alys_site *out);
void sites_fill_exit(const struct site_exit *x, uint32_t object, uint8_t nest, struct alys_site *out);
/* The exits to probe for a site: all, or with predictions the slow ones. */
size_t sites_exits(const struct site *s, bool predict, const uint32_t **out);
/* Could whole calls be seen at one place? exact: all calls are wanted. */
bool sites_have_whole(const struct site_list *l, bool exact);
/* From now on, places that see whole calls are used. Proven sites only: a trial needs the entry of each call. */
void sites_use_whole(struct site_list *l, bool exact);
/* The struct that BPF reads for such an exit. */
void sites_fill_whole(const struct site_list *l, const struct site_exit *x, uint32_t object, struct alys_site *out);
/* For people: one paragraph per function. */
void sites_print(const struct site_list *l, struct buf *out);
/*
 * The same for a collector's file sampled at refills: only what differs from sampling at calls. Nothing for other
 * files.
 */
void sites_print_refills(const struct site_list *calls, const struct site_list *refills, struct buf *out);

#endif
