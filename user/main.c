/* main: hands the command line over. Rooms are opened and closed by the sessions of the verbs. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
