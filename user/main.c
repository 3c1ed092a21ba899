/* SPDX-License-Identifier: Apache-2.0 */
/* main: runs the command line interface. */
#include "base/descriptors.h"
#include "cli/cli.h"

int main(int argc, char **argv)
{
	descriptors_fill();
	return cli_main(argc, argv);
}
