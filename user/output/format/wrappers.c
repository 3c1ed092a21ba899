/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format/wrappers: names of well-known functions that only pass requests on to the allocator, and so say nothing as an
 * allocation site. Excluded are functions that say what a block is for (strdup, Box::new, push_back), and those that
 * run their caller's code, whose frame may be inlined (std::__invoke, _M_run, sort).
 */
#include <pthread.h>

#include "format/format.h"
#include "format/pattern.h"
#include "format/skip.h"

/* Complete C names, optionally with a suffix added by compiler or linker: .part.0, @@VERSION. */
#define C(names) "^(" names ")([.@(]|$)"

/* Names reserved for the standard library; methods of any class. */
#define CXX_INTERNAL(names) "(^|::|[*& ])(" names ")[a-z_]*[[(<]"

static const char *const known[] = {
	/* redis, valkey */
	C("z(try)?(malloc|calloc|realloc)(_num|_usable|_usable_internal|_no_tcache)?"),
	/* gnulib, gcc, bash, git, systemd */
	C("(do_|sh_)?x(malloc|mallocz|calloc|realloc|zalloc|nmalloc|nrealloc|2realloc|2nrealloc|reallocarray|palloc|charalloc)|"
	  "malloc_multiply|greedy_realloc(0|_append)?"),
	/* nginx */
	C("ngx_(alloc|calloc|memalign|palloc|pnalloc|pcalloc|pmemalign|palloc_block|palloc_large|palloc_small)"),
	/* glib */
	C("g_(try_)?(malloc|malloc0|realloc|malloc_n|malloc0_n|realloc_n)|g_slice_alloc0?|g_aligned_alloc0?"),
	/* python */
	C("_?Py(Mem|Object)_(Debug)?(Raw)?(Malloc|Calloc|Realloc|Alloc)|pymalloc_(alloc|realloc)|allocate_from_new_pool|new_"
	  "arena|"
	  "_PyObject_ArenaMalloc"),
	/* ruby */
	C("ruby_x(malloc|calloc|realloc)2?(_body)?|ruby_mim(malloc|calloc)|rb_xmalloc_mul_add(_mul)?|rb_gc_impl_(malloc|calloc|"
	  "realloc)|"
	  "objspace_x(malloc0|calloc|realloc)"),
	/* php */
	C("_?(safe_)?e(malloc|calloc|realloc2?)(_[0-9]+|_large|_huge)?|_?safe_(malloc|realloc)|__zend_(malloc|calloc|realloc)|"
	  "zend_mm_(alloc|realloc)_[a-z]+"),
	/* postgresql */
	C("palloc(0|_extended|_aligned)?|repalloc(0|_huge|_extended)?|pg_(malloc|malloc0|malloc_extended|malloc_internal|realloc)"
	  "|"
	  "MemoryContextAlloc(Zero|ZeroAligned|Huge|Extended|Aligned)?|"
	  "(AllocSet|Generation|Slab|Bump)(Alloc|Realloc|AllocLarge|AllocFromNewBlock)"),
	/* sqlite */
	C("sqlite3(_malloc|_malloc64|_realloc|_realloc64|Malloc|MallocZero|Realloc|MemMalloc|MemRealloc|DbMallocRaw|"
	  "DbMallocRawNN|"
	  "DbMallocZero|DbRealloc|DbReallocOrFree)|dbMallocRawFinish|dbReallocFinish|mallocWithAlarm"),
	/* openssl, libevent, libuv, perl, lua, apr, mariadb, qt */
	C("CRYPTO_(malloc|zalloc|realloc|clear_realloc|malloc_array|realloc_array)|event_mm_(malloc|calloc|realloc)_|"
	  "uv__(malloc|calloc|realloc)|Perl_safesys(malloc|calloc|realloc)|l_alloc|luaM_(malloc_|realloc_|saferealloc_|growaux_)|"
	  "apr_p?c?alloc|apr_palloc_debug|apr_pcalloc_debug|my_(malloc|realloc|raw_malloc)|QArrayData::allocate[12]?|"
	  "QArrayData::reallocateUnaligned"),
	/* node, the JVM */
	C("v8::internal::(Malloced::operator new|AllocWithRetry|NewArray<.*>)|v8::base::(Malloc|Calloc|Realloc)|"
	  "node::(Unchecked)?(Malloc|Calloc|Realloc)(<.*>)?|os::(malloc|realloc)|(Re)?[aA]llocateHeap"),
	/* a class' own operator new */
	"::operator new(\\[\\])?\\(",
	/* libstdc++: allocators, and internals below the containers' public methods */
	"^(void "
	")?(std|__gnu_cxx)::(__1::|__cxx11::|pmr::)?(__)?(new_allocator|allocator|allocator_traits|alloc_traits|malloc_allocator|"
	"memory_resource|polymorphic_allocator)(<.*>)?::(_S_)?(do_)?(allocate[a-z_]*|construct)[(<]",
	CXX_INTERNAL(
		"_M_(allocate|create|get_node|realloc|reallocate|initialize_map|reserve|reserve_map|default_append|fill_|range_|"
		"emplace|push_back_aux|push_front_aux|insert|construct|mutate|append|assign|replace|rehash|copy)|"
		"_S_(create|construct)"),
	"std::(_Vector_base|_Deque_base|_Bvector_base|__shared_count|__shared_ptr|__allocated_ptr)<.*>::_?_?(Vector_base|Deque_"
	"base|"
	"Bvector_base|shared_count|shared_ptr|allocated_ptr)[(<]",
	"(^|[ :])std::__allocate_guarded(_obj)?[(<]",
	"std::(__detail::_(AllocNode|ReuseOrAllocNode)<|_Rb_tree<.*>::_(Alloc_node|Reuse_or_alloc_node)::).*operator\\(\\)[(<]",
	"std::.*::_(Scoped|Auto)_node::_(Scoped|Auto)_node[(<]",
	/* libc++ */
	CXX_INTERNAL("__libcpp_(operator_new|allocate|aligned_alloc)|__allocate_at_least|__vallocate|__push_back_slow_path|"
		     "__emplace_back_slow_path|__grow_by|__construct_node|__init|__assign_no_alias"),
	"std::__1::__split_buffer<.*>::__split_buffer[(<]",
	/* rust, in both mangling schemes, with and without crate hashes */
	"^<?(alloc|std)(\\[[0-9a-f]+\\])?::(alloc|raw_vec|sys::alloc|sys::pal::[a-z]+::alloc)::",
	"^<(alloc(\\[[0-9a-f]+\\])?::alloc::Global|std(\\[[0-9a-f]+\\])?::alloc::System) as core",
	"^<?alloc(\\[[0-9a-f]+\\])?::(boxed::box_new|(vec::Vec|boxed::Box)<.*>::(try_)?(with_capacity|new_uninit|new_uninit_"
	"slice)_in)",
	"^<?hashbrown(\\[[0-9a-f]+\\])?::raw::",
	C("__(rust|rdl|rg)_(alloc|alloc_zeroed|realloc)|__rustc(\\[[0-9a-f]+\\])?::__(rust|rdl|rg)_(alloc|alloc_zeroed|realloc)"),
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

static regex_t compiled[KNOWN];
static size_t compiled_cnt;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Out of memory: the remaining patterns are left out. */
static void compile(void)
{
	while (compiled_cnt < KNOWN && !pattern_compile(&compiled[compiled_cnt], "known", known[compiled_cnt], NULL))
		compiled_cnt++;
}

bool skip_is_known(const struct sink_frame *f)
{
	pthread_once(&once, compile);
	for (size_t i = 0; format_is_named(f) && i < compiled_cnt; i++) {
		if (!regexec(&compiled[i], f->symbol->name, 0, NULL, 0))
			return true;
	}
	return false;
}
