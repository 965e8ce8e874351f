#define _GNU_SOURCE

#include "peer.h"
#include "resolver.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

enum {
  START_LIMIT_MS = 10000,
  READY_SILENCE_MS = 50,
  SILENCE_MS = 2,
  MISS_AFTER_MS = 2000,
  SILENCE_LIMIT_MS = 10000,
  PIPE_CAPACITY = 1024 * 1024,
};

/* A NULL program is netwatch, whose path is an option; one with a slash stands in the folder. */
static const struct {
  const char *name;
  const char *program;
  const char *arguments[4];
  bool greets;
  const char *unreachable_mark;
} descriptions[EVERY_PEER] = {
    [NETWATCH] = {"netwatch", NULL, {"--follow", "--json", "--no-service"}, true,
                  "\"status\":\"not-reachable\""},
    [C_RAW_Q] = {"c-raw-q", "/c-raw-q", {0}, true, "\"status\":\"not-reachable\""},
    [C_RAW] = {"c-raw", "/c-raw-q", {"--no-lookup"}, true, NULL},
    [GLIB] = {"glib-monitor", "/glib-monitor", {0}, true, "\"available\":false"},
    [IP_MONITOR] = {"ip monitor route", "ip", {"monitor", "route"}, false, NULL},
    [NETWATCH_WAYBAR] = {"waybar", NULL, {"--follow", "--format=waybar", "--no-service"}, true, NULL},
    [NETWATCH_POLYBAR] = {"polybar", NULL, {"--follow", "--format=polybar", "--no-service"}, true, NULL},
    [NETWATCH_TMUX] = {"tmux", NULL, {"--follow", "--format=tmux", "--no-service"}, true, NULL},
    [NETWATCH_PROBING] = {"netwatch --probe", NULL,
                          {"--follow", "--json", "--no-service", "--probe=http://192.0.2.1/"}, true, NULL},
    [NETWATCH_ONCE] = {"netwatch status", NULL, {"status", "--json"}, true, NULL},
    [NETWATCH_BAR_ONCE] = {"netwatch status --format tmux", NULL, {"status", "--format=tmux"}, true, NULL},
};

const char *peer_name(enum peer_id id) { return descriptions[id].name; }
bool peer_greets(enum peer_id id) { return descriptions[id].greets; }
const char *peer_unreachable_mark(enum peer_id id) { return descriptions[id].unreachable_mark; }

static _Noreturn void give_up(const struct peer *peer, const char *what) {
  errx(2, "%s %s; its messages are in %s.log beside the compiled programs", peer_name(peer->id),
       what, peer_name(peer->id));
}

void peer_start(struct peer *peer, enum peer_id id, const struct options *options) {
  *peer = (struct peer){.id = id};
  const char *program = descriptions[id].program;
  char path[4096];
  if (program == NULL) {
    snprintf(path, sizeof path, "%s", options->netwatch);
  } else {
    bool is_ours = program[0] == '/';
    snprintf(path, sizeof path, "%s%s", is_ours ? options->programs : "", program);
  }
  char *arguments[] = {path, (char *)descriptions[id].arguments[0],
                       (char *)descriptions[id].arguments[1],
                       (char *)descriptions[id].arguments[2],
                       (char *)descriptions[id].arguments[3], NULL, NULL};
  if (id == NETWATCH && options->host) {
    arguments[4] = "--target";
    arguments[5] = (char *)resolver_host;
    peer->is_resolving = true;
  }

  int messages = open_log(options, peer_name(id));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) err(2, "pipe2");
  /* Room for a whole burst of lines; a smaller pipe is only read more often. */
  fcntl(ends[0], F_SETPIPE_SZ, PIPE_CAPACITY);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);

  peer->output = ends[0];
  peer->started_ns = now_ns();
  peer->pid = process_start(path, arguments, ends[1], messages);
  close(ends[1]);
  close(messages);
}

static void take_lines(struct peer *peer, const char *bytes, size_t length) {
  for (const char *end; (end = memchr(bytes, '\n', length)) != NULL;) {
    size_t size = end - bytes;
    size_t room = sizeof peer->partial_line - 1 - peer->partial_length;
    size_t taken = size < room ? size : room;
    memcpy(peer->last_line, peer->partial_line, peer->partial_length);
    memcpy(peer->last_line + peer->partial_length, bytes, taken);
    peer->last_line[peer->partial_length + taken] = '\0';
    peer->partial_length = 0;
    peer->lines++;
    bytes += size + 1;
    length -= size + 1;
  }
  size_t room = sizeof peer->partial_line - 1 - peer->partial_length;
  size_t taken = length < room ? length : room;
  memcpy(peer->partial_line + peer->partial_length, bytes, taken);
  peer->partial_length += taken;
}

bool peer_read(struct peer *peer, int timeout_ms) {
  static char buffer[64 * 1024];
  struct pollfd readable = {.fd = peer->output, .events = POLLIN};
  int ready = poll(&readable, 1, timeout_ms);
  if (ready < 0 && errno != EINTR) err(2, "poll");
  if (ready <= 0) return false;
  ssize_t length = read(peer->output, buffer, sizeof buffer);
  uint64_t read_ns = now_ns();
  if (length < 0 && errno == EAGAIN) return false;
  if (length < 0) err(2, "read from %s", peer_name(peer->id));
  if (length == 0) give_up(peer, "ended too early");
  peer->read_ns = read_ns;
  take_lines(peer, buffer, length);
  return true;
}

void peer_read_until_silent(struct peer *peer, int silence_ms) {
  uint64_t deadline = now_ns() + SILENCE_LIMIT_MS * UINT64_C(1000000);
  while (peer_read(peer, silence_ms)) {
    if (now_ns() > deadline) give_up(peer, "never falls silent");
  }
}

uint64_t peer_wait_first_line(struct peer *peer) {
  if (peer->is_resolving) resolver_serve_until_readable(peer->output, START_LIMIT_MS);
  if (!peer_read(peer, START_LIMIT_MS)) give_up(peer, "prints nothing");
  return peer->read_ns - peer->started_ns;
}

void peer_wait_ready(struct peer *peer) {
  if (peer->lines == 0 && peer_greets(peer->id)) peer_wait_first_line(peer);
  uint64_t deadline = peer->started_ns + START_LIMIT_MS * UINT64_C(1000000);
  while (!process_netlink(peer->pid).is_listening) {
    if (now_ns() > deadline) give_up(peer, "does not listen to netlink");
    sleep_ms(1);
  }
  peer_read_until_silent(peer, READY_SILENCE_MS);
}

double peer_time_change(struct peer *peer, int socket, const struct route_request *request) {
  uint64_t started = now_ns();
  send_route_request(socket, request);
  bool answered = peer_read(peer, MISS_AFTER_MS);
  uint64_t finished = peer->read_ns;
  peer_read_until_silent(peer, SILENCE_MS);
  expect_no_refusal(socket);
  return answered ? (finished - started) / 1000.0 : -1;
}

void peer_stop(struct peer *peer) {
  /* First, or one that waits for room in the pipe would not hear the signal. */
  close(peer->output);
  process_stop(peer->pid);
}
