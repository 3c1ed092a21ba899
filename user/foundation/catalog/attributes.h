/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog/attributes: what a process is known by outside this machine, as names and values of the OpenTelemetry semantic
 * conventions: service.name, container.id, k8s.pod.uid. One text, as in the environment variable OTEL_RESOURCE_ATTRIBUTES:
 * "name=value,name=value", with bytes that would end a name or value, and '%', as %XX (W3C Baggage). Names are unique.
 */
#ifndef ALYS_CATALOG_ATTRIBUTES_H
#define ALYS_CATALOG_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define ATTRIBUTES_MAX 2048     /* bytes of the text */
#define ATTRIBUTE_NAME_MAX 64   /* with NUL */
#define ATTRIBUTE_VALUE_MAX 256 /* with NUL */

struct attribute {
	char name[ATTRIBUTE_NAME_MAX];
	char value[ATTRIBUTE_VALUE_MAX]; /* decoded: any bytes but NUL */
};

/* The next attribute of the text from *at on; false at its end. What is malformed or too long is passed over. */
bool attributes_next(const char *text, size_t *at, struct attribute *out);
/* False, and "", without that name. */
bool attributes_get(const char *text, const char *name, struct attribute *out);
/*
 * As attributes_next, with the name as a label of Prometheus and pprof has it: "k8s.pod.uid" is k8s_pod_uid. Passed over are
 * service.name, which every label set begins with, the names of labels that we write ourselves, and a name that occurs again.
 */
bool attributes_next_label(const char *text, size_t *at, struct attribute *out);
/* Is it passed over for its name? Not service.name. `label` is the name as a label. */
bool attributes_is_reserved(const char *name, char label[ATTRIBUTE_NAME_MAX]);
/* Appends those of another text, as attributes_add does. */
void attributes_add_all(struct buf *text, const char *more);
/* Appends an attribute, unless its name is there, its value is empty, or the text would be too long. */
void attributes_add(struct buf *text, const char *name, const char *value);

#endif
