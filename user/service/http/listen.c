/* SPDX-License-Identifier: Apache-2.0 */
/* http/listen: parses --listen and opens the socket. See http.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/local.h"
#include "http/exchange.h"

#define BACKLOG 1024

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool parse_port(const char *text, in_port_t *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	*out = htons((uint16_t)n);
	return *text >= '0' && *text <= '9' && !*end && n <= 65535;
}

/* "PORT", "HOST:PORT" or "[HOST]:PORT" */
static bool parse_address(const char *text, union address *out)
{
	char host[REQUEST_HOST_MAX + 1];
	const char *colon = strrchr(text, ':');
	*out = (union address){ .v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	if (!colon)
		return parse_port(text, &out->v4.sin_port);
	size_t len = (size_t)(colon - text);
	if (!len || len >= sizeof(host))
		return false;
	memcpy(host, text, len);
	host[len] = 0;
	if (*host == '[' && host[len - 1] == ']') {
		host[len - 1] = 0;
		*out = (union address){ .v6 = { .sin6_family = AF_INET6 } };
		return inet_pton(AF_INET6, host + 1, &out->v6.sin6_addr) == 1 && parse_port(colon + 1, &out->v6.sin6_port);
	}
	return parse_port(colon + 1, &out->v4.sin_port) &&
	       (!strcasecmp(host, "localhost") || inet_pton(AF_INET, host, &out->v4.sin_addr) == 1);
}

static bool address_is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
	return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
}

static void print_address(const union address *a, char *out, size_t cap)
{
	char host[INET6_ADDRSTRLEN] = "";
	if (a->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof(host));
		snprintf(out, cap, "[%s]:%u", host, ntohs(a->v6.sin6_port));
	} else {
		inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof(host));
		snprintf(out, cap, "%s:%u", host, ntohs(a->v4.sin_port));
	}
}

static int check(const struct http_options *o, const union address *a, bool parsed, struct err *err)
{
	if (!parsed)
		return err_set(err, EINVAL,
			       "--listen wants /PATH of a unix socket, PORT, 127.0.0.1:PORT or [::1]:PORT, got \"%s\"",
			       o->listen);
	if (!address_is_loopback(a) && !o->insecure)
		return err_set(err, EINVAL,
			       "--listen %s would show every traced program's stacks to everyone who can reach that address: use "
			       "127.0.0.1, or --listen-insecure to allow it",
			       o->listen);
	return 0;
}

static int refuse(struct err *err, const char *address)
{
	if (errno == EADDRINUSE)
		return err_set(err, EADDRINUSE, "%s is in use by another program: give --listen another port", address);
	return err_set(err, errno, "cannot listen at %s: %s", address, strerror(errno));
}

static int listen_local(const struct http_options *o, struct http_listener *out, struct err *err)
{
	struct local_place place = {
		.path = o->listen, .option = "--listen", .type = SOCK_STREAM, .mode = 0660, .backlog = BACKLOG
	};
	int fd = local_listen(&place, err);
	if (fd < 0)
		return fd;
	out->fd = fd;
	snprintf(out->address, sizeof(out->address), "%s", o->listen);
	out->local = true;
	return 0;
}

static int listen_at(const union address *at, struct http_listener *out, struct err *err)
{
	union address a = *at;
	socklen_t len = a.any.sa_family == AF_INET6 ? sizeof(a.v6) : sizeof(a.v4);
	int on = 1;
	print_address(&a, out->address, sizeof(out->address));
	out->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (out->fd < 0)
		return refuse(err, out->address);
	setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a.any.sa_family == AF_INET6)
		setsockopt(out->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(out->fd, &a.any, len) || listen(out->fd, BACKLOG) || getsockname(out->fd, &a.any, &len))
		return refuse(err, out->address);
	print_address(&a, out->address, sizeof(out->address));
	out->peers = peer_tables_open();
	return 0;
}

int http_listen(const struct http_options *o, struct http_listener *out, struct err *err)
{
	union address a;
	*out = (struct http_listener)HTTP_LISTENER_NONE;
	if (*o->listen == '/')
		return listen_local(o, out, err);
	int rc = check(o, &a, parse_address(o->listen, &a), err);
	if (!rc)
		rc = listen_at(&a, out, err);
	if (rc)
		http_unlisten(out);
	return rc;
}

void http_listener_close(struct http_listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	peer_tables_close(&l->peers);
}

void http_unlisten(struct http_listener *l)
{
	http_listener_close(l);
	if (l->local)
		unlink(l->address);
	*l = (struct http_listener)HTTP_LISTENER_NONE;
}
