/* A program under measurement: started, read without ever blocking it, and ended by its pid. */
#ifndef NETWATCH_BENCH_PEER_H
#define NETWATCH_BENCH_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness.h"
#include "routes.h"

enum peer_id {
  NETWATCH,
  C_RAW_Q,
  C_RAW,
  GLIB,
  IP_MONITOR,
  PEER_COUNT,
  /* The same netwatch with lines for bars, with a probe of who never answers, and asked once. */
  NETWATCH_WAYBAR = PEER_COUNT,
  NETWATCH_POLYBAR,
  NETWATCH_TMUX,
  NETWATCH_PROBING,
  NETWATCH_ONCE,
  NETWATCH_BAR_ONCE,
  EVERY_PEER,
};

enum { LINE_CAPACITY = 8192 };

struct peer {
  enum peer_id id;
  bool is_resolving; /* its first line waits for the addresses of a host */
  pid_t pid;
  int output;
  uint64_t started_ns;
  uint64_t read_ns; /* when output last came */
  uint64_t lines;
  char last_line[LINE_CAPACITY];
  char partial_line[LINE_CAPACITY];
  size_t partial_length;
};

const char *peer_name(enum peer_id id);

/* Whether the program prints a line when it starts. */
bool peer_greets(enum peer_id id);

/* What the last line contains when it says that nothing is reachable; NULL: it does not say. */
const char *peer_unreachable_mark(enum peer_id id);

void peer_start(struct peer *peer, enum peer_id id, const struct options *options);

/* Waits for the first output and returns the nanoseconds since the start. */
uint64_t peer_wait_first_line(struct peer *peer);

/* Waits until the program listens and has said everything it wants to say. */
void peer_wait_ready(struct peer *peer);

/* Waits for output, reads once; false if none came in time. */
bool peer_read(struct peer *peer, int timeout_ms);

/* Reads until nothing came for this long; bounded. */
void peer_read_until_silent(struct peer *peer, int silence_ms);

/* Microseconds from a change of the kernel's to the first byte of what the program says of it, or negative if that never
 * comes. Returns when it has said everything. */
double peer_time_change(struct peer *peer, int socket, const struct route_request *request);

void peer_stop(struct peer *peer);

#endif
