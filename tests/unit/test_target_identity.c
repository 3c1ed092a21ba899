/* SPDX-License-Identifier: Apache-2.0 */
/* target/identity: cgroup paths as the container runtimes and systemd write them, and environments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/identity.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "01234567-89ab-cdef-0123-456789abcdef"
#define UNDERSCORES "01234567_89ab_cdef_0123_456789abcdef"
#define STATIC "0123456789abcdef0123456789abcdef"

static const struct {
	const char *cgroup, *want;
} cases[] = {
	{ "0::/\n", "" },
	{ "", "" },
	{ "nonsense\n0:\n", "" },
	{ "0::/system.slice/nginx.service\n", "systemd.unit=nginx.service" },
	{ "0::/user.slice/user-1000.slice/user@1000.service/app.slice/shop.service\n", "systemd.unit=shop.service" },
	{ "0::/system.slice/docker-" ID ".scope\n", "container.id=" ID },
	{ "0::/docker/" ID "\n", "container.id=" ID },
	{ "0::/machine.slice/libpod-" ID ".scope/container\n", "container.id=" ID },
	{ "0::/machine.slice/libpod-conmon-" ID ".scope\n", "" },
	{ "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UNDERSCORES ".slice/cri-containerd-" ID ".scope\n",
	  "container.id=" ID ",k8s.pod.uid=" UID },
	{ "0::/kubepods.slice/kubepods-pod" UNDERSCORES ".slice/crio-" ID ".scope\n", "container.id=" ID ",k8s.pod.uid=" UID },
	{ "0::/kubepods/besteffort/pod" UID "/" ID "\n", "container.id=" ID ",k8s.pod.uid=" UID },
	{ "0::/kubepods/pod" STATIC "/" ID "\n", "container.id=" ID ",k8s.pod.uid=" STATIC },
	{ "0::/../../pod" UID "/" ID "\n", "container.id=" ID ",k8s.pod.uid=" UID },
	{ "0::/../../../besteffort/pod" UID "/" ID "\n", "container.id=" ID ",k8s.pod.uid=" UID },
	{ "0::/../../kubepods-burstable-pod" UNDERSCORES ".slice/cri-containerd-" ID ".scope\n",
	  "container.id=" ID ",k8s.pod.uid=" UID },
	{ "0::/system.slice/containerd.service/kubepods-burstable-pod" UNDERSCORES ".slice:cri-containerd:" ID "\n",
	  "container.id=" ID ",k8s.pod.uid=" UID ",systemd.unit=containerd.service" },
	{ "12:memory:/docker/" ID "\n1:name=systemd:/docker/" ID "\n0::/\n", "container.id=" ID },
	{ "0::/system.slice/docker-" ID "0.scope\n", "" },
	{ "3:cpu:/a/b/c/d/e/f\n2:name=systemd:/x.service\n0::/\n", "systemd.unit=x.service" },
	{ "0::/podcast/x" ID "\n", "" },
};

static void cgroups(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = { 0 };
		char *text = strdup(cases[i].cgroup);
		identity_of_cgroup(text, &out);
		assert_string_equal(buf_str(&out), cases[i].want);
		buf_free(&out);
		free(text);
	}
}

static void the_environment_names_the_service(void **state)
{
	static const char both[] = "PATH=/bin\0OTEL_RESOURCE_ATTRIBUTES=service.name=b,team=pay\0OTEL_SERVICE_NAME=a\0SECRET=x";
	static const char one[] = "XOTEL_SERVICE_NAME=x\0OTEL_RESOURCE_ATTRIBUTES=service.name=b,team=pay";
	struct buf out = { 0 };
	(void)state;
	identity_of_environment(both, sizeof(both), &out);
	assert_string_equal(buf_str(&out), "service.name=a,team=pay");
	buf_reset(&out);
	identity_of_environment(one, sizeof(one), &out);
	assert_string_equal(buf_str(&out), "service.name=b,team=pay");
	buf_reset(&out);
	identity_of_environment("", 1, &out);
	assert_string_equal(buf_str(&out), "");
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cgroups),
		cmocka_unit_test(the_environment_names_the_service),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
