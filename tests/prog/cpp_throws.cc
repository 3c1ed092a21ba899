/* Requests that nobody grants, and no handler is there for them. */
#include "refused.hh"

int main(int argc, char **argv)
{
	return refused_over_and_over(argc, argv);
}
/* SPDX-License-Identifier: Apache-2.0 */
