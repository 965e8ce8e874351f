/* `netwatch serve` on a socket of its own, and clients of it. */
#ifndef NETWATCH_BENCH_SERVICE_H
#define NETWATCH_BENCH_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness.h"

struct service {
  pid_t pid;
  char socket[64];
};

/* Returns when it listens. One at a time. */
void service_start(struct service *service, const struct options *options);
/* The same with one option more. */
void service_start_with(struct service *service, const struct options *options, char *option, char *value);
void service_stop(struct service *service);

enum { CLIENT_CAPACITY = 8192 };

struct client {
  int socket;
  uint64_t read_ns;  /* when something last came */
  uint64_t sequence; /* of `line` */
  const char *line;  /* valid until the next read; NULL before the first */
  char bytes[CLIENT_CAPACITY];
  size_t length;
  size_t taken;
};

/* A subscriber, which gets the present state as its first line. */
void client_connect(struct client *client, const struct service *service);
void client_close(struct client *client);

/* Unlike a subscriber, gets answers alone. */
void client_connect_silent(struct client *client, const struct service *service);

void client_send(struct client *client, const char *text);

/* Reads once, without waiting; false if nothing has come. */
bool client_read(struct client *client);

/* Goes on to the next whole line of what was read; false if there is none. */
bool client_next_line(struct client *client);

/* Reads until the newest line has this in it; false if none came in time. */
bool client_await(struct client *client, const char *mark, int timeout_ms);

/* Reads until nothing came for this long. */
void client_read_until_silent(struct client *client, int silence_ms);

#endif
