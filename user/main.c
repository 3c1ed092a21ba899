/* SPDX-License-Identifier: Apache-2.0 */
/* main: hands the command line over. Rooms are opened and closed by the sessions of the verbs. */
#include "base/descriptors.h"
#include "cli/cli.h"

int main(int argc, char **argv)
{
	descriptors_fill();
	return cli_main(argc, argv);
}
