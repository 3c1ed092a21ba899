/* SPDX-License-Identifier: Apache-2.0 */
/* target/proc: see proc.h. */
#include "target/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "access/rights.h"
#include "base/clock.h"
#include "sandbox/caps.h"

#define KERNEL_THREAD 0x00200000 /* PF_KTHREAD, include/linux/sched.h */

static int no_such(uint32_t tgid, struct err *err)
{
	return err_set(err, ESRCH, "no process %u: check the number with `pgrep -a NAME`", tgid);
}

static FILE *open_proc(uint32_t tgid, enum rights_fact what)
{
	int fd = rights_fact(tgid, what);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* A number of /proc/PID/stat, proc(5); the first one after the name is field 3. */
static uint64_t stat_field(const char *after_comm, int wanted)
{
	uint64_t value = 0;
	const char *at = after_comm;
	for (int field = 2; *at && field < wanted; field++)
		at = strchr(at + 1, ' ') ?: "";
	sscanf(at, "%" SCNu64, &value);
	return value;
}

/* ticks: clock ticks of CLOCK_BOOTTIME. */
static uint64_t start_of(uint64_t ticks)
{
	uint64_t boot_ns = ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
	/* In this order, so that the difference is never below 0. */
	uint64_t awake = now_ns();
	uint64_t asleep = clock_ns(CLOCK_BOOTTIME) - awake;
	return boot_ns > asleep ? boot_ns - asleep : 0;
}

static bool read_stat(uint32_t tgid, struct proc_facts *out)
{
	char line[1024] = "";
	FILE *f = open_proc(tgid, FACT_STAT);
	if (!f)
		return false;
	size_t n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = 0;
	/* The name may contain anything, even ") ": the last parenthesis ends it. */
	char *open = strchr(line, '('), *close = strrchr(line, ')');
	if (!open || !close || close < open || close[1] != ' ')
		return false;
	snprintf(out->comm, sizeof(out->comm), "%.*s", (int)(close - open - 1), open + 1);
	out->start_ns = start_of(stat_field(close, 22));
	out->kernel_thread = stat_field(close, 9) & KERNEL_THREAD;
	return true;
}

/* The text after "Key:"; "" if missing. */
static void read_status(uint32_t tgid, const char *key, char *out, size_t cap)
{
	char line[256];
	size_t n = strlen(key);
	FILE *f = open_proc(tgid, FACT_STATUS);
	*out = 0;
	while (f && !*out && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, key, n) && line[n] == ':')
			snprintf(out, cap, "%s", line + n + 1);
	}
	if (f)
		fclose(f);
}

long proc_status_value(uint32_t tgid, const char *key)
{
	char text[64];
	read_status(tgid, key, text, sizeof(text));
	return *text ? strtol(text, NULL, 10) : -1;
}

/* A process has a number in its own namespace and in each above it, down to that of /proc. */
bool proc_is_nested(uint32_t tgid)
{
	char numbers[256];
	read_status(tgid, "NSpid", numbers, sizeof(numbers));
	return strchr(numbers, '\t') != strrchr(numbers, '\t');
}

static uint64_t resident_of(uint32_t tid)
{
	unsigned long total, resident = 0;
	FILE *f = open_proc(tid, FACT_STATM);
	if (f && fscanf(f, "%lu %lu", &total, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool proc_faults(uint32_t tgid, uint64_t *out)
{
	unsigned long minor, major;
	char text[512] = "";
	int fd = rights_fact(tgid, FACT_STAT);
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	const char *at = n > 0 ? strrchr(text, ')') : NULL;
	if (fd >= 0)
		close(fd);
	if (!at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu", &minor, &major) != 2)
		return false;
	*out = minor + major;
	return true;
}

uint64_t proc_resident(uint32_t tgid)
{
	uint64_t bytes = resident_of(tgid);
	return bytes ? bytes : resident_of(proc_holder(tgid));
}

static int read_exe(uint32_t tid, char *out, size_t cap)
{
	return rights_exe(tid, out, cap);
}

size_t proc_exe_len(const char *exe)
{
	static const char gone[] = " (deleted)";
	size_t n = strlen(exe), tail = sizeof(gone) - 1;
	return n > tail && !strcmp(exe + n - tail, gone) ? n - tail : n;
}

uint32_t proc_holder(uint32_t tgid)
{
	char path[64];
	uint32_t found = tgid;
	if (read_exe(tgid, path, sizeof(path)) != -ENOENT)
		return tgid;
	snprintf(path, sizeof(path), "/proc/%u/task", tgid);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && found == tgid && (e = readdir(dir));) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
		if (tid && read_exe(tid, path, sizeof(path)) != -ENOENT)
			found = tid;
	}
	if (dir)
		closedir(dir);
	return found;
}

int proc_read(uint32_t tgid, struct proc_facts *out, struct err *err)
{
	*out = (struct proc_facts){ 0 };
	/* Thread numbers have directories in /proc, too; only the leader's is that of a process. */
	if (!read_stat(tgid, out) || proc_status_value(tgid, "Tgid") != (long)tgid)
		return no_such(tgid, err);
	if (out->kernel_thread)
		return 0;
	int n = read_exe(tgid, out->exe, sizeof(out->exe) - 1);
	if (n == -ENOENT)
		n = read_exe(proc_holder(tgid), out->exe, sizeof(out->exe) - 1);
	out->exe[n > 0 ? n : 0] = 0;
	out->ended = n == -ENOENT;
	return 0;
}

static bool parse_map_line(char *text, struct map_line *out)
{
	unsigned int major, minor;
	char perms[8];
	int path_at = 0;
	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &out->start, &out->end, perms,
		   &out->offset, &major, &minor, &out->ino, &path_at) < 7)
		return false;
	text[strcspn(text, "\n")] = 0;
	out->dev = makedev(major, minor);
	out->readable = perms[0] == 'r';
	out->writable = perms[1] == 'w';
	out->exec = perms[2] == 'x';
	out->shared = perms[3] == 's';
	out->past = false;
	out->path = path_at ? text + path_at : "";
	return true;
}

int proc_each_map(uint32_t tgid, int (*fn)(void *ctx, const struct map_line *l), void *ctx, struct err *err)
{
	int fd = rights_maps(proc_holder(tgid));
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!f && fd == -EACCES)
		return err_set(err, EACCES, "not allowed to inspect process %u: %s", tgid, caps_advice());
	if (fd == -EMFILE || fd == -ENFILE)
		return err_set(
			err, -fd,
			"too many open files to inspect process %u: raise the limit (ulimit -n), or choose fewer processes",
			tgid);
	if (!f)
		return no_such(tgid, err);
	char *text = NULL;
	size_t cap = 0;
	int rc = 0;
	struct map_line line;
	while (!rc && getline(&text, &cap, f) > 0) {
		if (parse_map_line(text, &line))
			rc = fn(ctx, &line);
	}
	free(text);
	fclose(f);
	return rc;
}
