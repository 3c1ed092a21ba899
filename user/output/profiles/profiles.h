/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles: the formats of sample types, stacks and shared tables that profilers exchange.
 * pprof: github.com/google/pprof, proto/profile.proto. OTLP: opentelemetry-proto 1.9, profiles/v1development.
 * Perfetto: github.com/google/perfetto, protos/perfetto/trace.
 */
#ifndef ALYS_PROFILES_H
#define ALYS_PROFILES_H

#include "format/sink.h"

extern const struct sink_ops sink_pprof;
extern const struct sink_ops sink_otlp;
extern const struct sink_ops sink_perfetto;

#endif
