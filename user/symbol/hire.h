/* symbol/hire: starts a worker process (worker.h) with a socket to it, and ends it. */
#ifndef ALYS_SYMBOL_HIRE_H
#define ALYS_SYMBOL_HIRE_H

#include <sys/types.h>

struct hired {
	pid_t pid; /* 0: none */
	int sock;
};

/* program NULL: this one. 0 or -errno. */
int hire(struct hired *h, const char *program);
/* At once, whatever it is doing; it has nothing to lose. */
void hire_end(struct hired *h);

#endif
