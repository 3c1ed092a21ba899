/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For test_functions.c: a loop that begins with the function; a function with two names, whose first instruction, of 4 bytes,
 * the kernel does not emulate; its cold part. The twin is in ../aarch64.
 */
__asm__(".text\n.type sample_loop, @function\nsample_loop:\n\tdec %rdi\n\tjnz sample_loop\n\tret\n.size sample_loop, . - "
	"sample_loop\n"
	".type sample_name, @function\n.type sample_alias, @function\nsample_name:\nsample_alias:\n\tsub $8,%rsp\n\tpush %rbx\n"
	"\tpop %rbx\n\tadd $8,%rsp\n\tret\n.size sample_name, . - sample_name\n.size sample_alias, . - sample_alias\n"
	".type sample_name.cold, @function\nsample_name.cold:\n\tnop\n\tret\n.size sample_name.cold, . - sample_name.cold\n");
