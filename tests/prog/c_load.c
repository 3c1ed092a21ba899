/*
 * A client under which a server works: c_load PORT PATH COUNT. Asks so many times (0: until SIGTERM), four requests at a time, and
 * prints the answer, which must always be the same.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AT_ONCE 4
#define MOST (1 << 20)

static volatile sig_atomic_t enough;
static char first[MOST], answer[MOST];
static size_t first_len;

static void on_term(int sig)
{
	(void)sig;
	enough = 1;
}

static int ask(int port, const char *path)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (void *)&to, sizeof(to)) ||
	    dprintf(fd, "GET %s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n", path, port) < 0)
		abort();
	return fd;
}

static void read_answer(int fd)
{
	size_t len = 0;
	ssize_t n;

	while (len < MOST && (n = read(fd, answer + len, MOST - len)) > 0)
		len += (size_t)n;
	close(fd);
	if (len == MOST || !len)
		abort();
	if (!first_len)
		memcpy(first, answer, first_len = len);
	if (len != first_len || memcmp(answer, first, len)) {
		fprintf(stderr, "another answer\n");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	int port = atoi(argv[1]), fds[AT_ONCE];
	long left = atol(argv[3]), forever = !left;

	signal(SIGTERM, on_term);
	while (!enough && (forever || left > 0)) {
		int n = forever || left > AT_ONCE ? AT_ONCE : (int)left;

		for (int i = 0; i < n; i++)
			fds[i] = ask(port, argv[2]);
		for (int i = 0; i < n; i++)
			read_answer(fds[i]);
		left -= n;
	}
	return fwrite(first, first_len, 1, stdout) != 1;
}
/* SPDX-License-Identifier: Apache-2.0 */
