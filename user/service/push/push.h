/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push: sends profiles to a server as time passes. In: a URL and a source (http/source.h), which it asks every few
 * seconds for each process: what was allocated since the last time; for Parca, which would add up what is in use, too,
 * all of it. Out: HTTP POSTs from a thread of its own. A server that is slow, refuses or is down for an hour costs a
 * bounded queue: the oldest profiles are dropped and counted. Writes no files.
 *
 *   http://HOST:4040                 Pyroscope: POST /push.v1.PusherService/Push (also https)
 *   parca+http://HOST:7070           Parca: gRPC, ProfileStoreService.WriteRaw (also https)
 *   otlp+http://HOST:4318            OpenTelemetry: POST /v1development/profiles (also https)
 *   otlp+grpc://HOST:4317            OpenTelemetry: gRPC, ProfilesService.Export (grpcs: with TLS)
 */
#ifndef ALYS_PUSH_H
#define ALYS_PUSH_H

#include "http/source.h"
#include "push/destination.h"

struct push;

/* As for http: one thread, signals blocked, `source` and credentials borrowed until push_close. NULL: err says why. */
struct push *push_open(const struct push_options *o, const struct http_source *source, struct err *err);
/* Readable when push_serve_pending must be called. Poll it, do not read it. */
int push_fd(const struct push *p);
void push_serve_pending(struct push *p);
/*
 * A process ends, and the source can provide its profile for the last time: what came since the last time is sent now.
 * Nothing is sent of one that was not yet sent anything of. On the thread that owns the source.
 */
void push_process_ends(struct push *p, uint32_t pid);
/* Prometheus lines about what was sent, dropped and refused. Usable as `metrics` of struct http_options. */
void push_metrics(void *push, struct buf *out);
/* The same in one line for people, with the last failure. */
void push_text(const struct push *p, struct buf *out);
/* Allows up to a second for queued profiles to be sent. */
void push_close(struct push *p);

#endif
