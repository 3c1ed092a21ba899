/* SPDX-License-Identifier: Apache-2.0 */
/* heapreader/heap_worker: the process that reads heaps for a recording: it carries out orders until the recording hangs up. */
#ifndef ALYS_HEAPREADER_HEAP_WORKER_H
#define ALYS_HEAPREADER_HEAP_WORKER_H

#include <sys/types.h>

#include "broker/broker.h"
#include "heapreader/order.h"

/* *line: where orders go. 0 or -errno. */
int worker_start(struct broker *b, struct order_line *line, struct err *err);
/* For whoever reads heaps without rights: ends with its broker, however that ends; its memory has a limit. 0 or -errno. */
int worker_confine(pid_t broker, struct err *err);
/* Bytes that a heap and its graph may take: half of what the system could give. */
uint64_t worker_memory(void);

#endif
