/* Requests that always fail, without a new-handler. */
#include "refused.hh"

int main(int argc, char **argv)
{
	return refused_over_and_over(argc, argv);
}
/* SPDX-License-Identifier: Apache-2.0 */
