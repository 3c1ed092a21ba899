/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/caps: see caps.h. Makes the two system calls directly, which is not worth a dependency on libcap. */
#include "sandbox/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct caps {
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int caps_get(struct caps *c)
{
	*c = (struct caps){ .head = { .version = _LINUX_CAPABILITY_VERSION_3 } };
	return syscall(SYS_capget, &c->head, c->data) ? -errno : 0;
}

static int caps_set(struct caps *c)
{
	return syscall(SYS_capset, &c->head, c->data) ? -errno : 0;
}

bool caps_has(int cap)
{
	struct caps c;
	return !caps_get(&c) && c.data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

const char *caps_missing(char out[CAPS_MISSING_TEXT])
{
	static const struct {
		int cap, or ;
		const char *name;
	} needed[] = {
		{ CAP_SYS_PTRACE, CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
		{ CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "CAP_DAC_READ_SEARCH" },
		{ CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "CAP_CHECKPOINT_RESTORE" },
	};
	size_t n = 0;
	*out = 0;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (!caps_has(needed[i].cap) && !caps_has(needed[i].or))
			n += (size_t)snprintf(out + n, CAPS_MISSING_TEXT - n, "%s%s", n ? ", " : "", needed[i].name);
	}
	return out;
}

static bool was_root;

void caps_keep_advice(void)
{
	was_root = !geteuid();
}

const char *caps_advice(void)
{
	return geteuid() && !was_root ? "run as root (sudo)"
				      : "root lacks rights here (a container, a security module, dropped capabilities): "
					"see `alys-bpf doctor`";
}

/* The kernel removes it from the ambient set as well. */
int caps_drop(int cap)
{
	struct caps c;
	int rc = caps_get(&c);
	struct __user_cap_data_struct *d = &c.data[CAP_TO_INDEX(cap)];
	if (rc)
		return rc;
	d->effective &= ~CAP_TO_MASK(cap);
	d->permitted &= ~CAP_TO_MASK(cap);
	d->inheritable &= ~CAP_TO_MASK(cap);
	return caps_set(&c);
}

int caps_drop_all(void)
{
	struct caps none = { .head = { .version = _LINUX_CAPABILITY_VERSION_3 } };
	return caps_set(&none);
}

int caps_keep(const int *caps, size_t cnt)
{
	struct caps now, less = { .head = { .version = _LINUX_CAPABILITY_VERSION_3 } };
	int rc = caps_get(&now);
	for (size_t i = 0; !rc && i < cnt; i++) {
		struct __user_cap_data_struct *from = &now.data[CAP_TO_INDEX(caps[i])], *to = &less.data[CAP_TO_INDEX(caps[i])];
		to->permitted |= from->permitted & CAP_TO_MASK(caps[i]);
		to->effective |= from->effective & CAP_TO_MASK(caps[i]);
	}
	return rc ? rc : caps_set(&less);
}
