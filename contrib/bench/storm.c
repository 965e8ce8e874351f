/* A burst of unrelated route changes, with the default route deleted in the middle of it. */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"
#include "process.h"
#include "routes.h"

enum {
  DEFAULT_ROUNDS = 3,
  BURST_CHANGES = 54000,
  PACE_CHANGES = 50, /* fit into every peer's socket buffer */
  PACE_MS = 1,
  READ_STEP_MS = 1,
  QUIET_MS = 1000,
  QUIET_STEP_MS = 50,
  QUIET_LIMIT_MS = 60000,
};

static const double cpu_target_seconds = 0.01;
static const uint32_t burst_first = 0x0ac00000; /* 10.192.0.0 */

static const enum peer_id contenders[] = {NETWATCH, GLIB, IP_MONITOR};
enum { CONTENDER_COUNT = sizeof contenders / sizeof *contenders };

/* Paced, every peer can follow; at full speed the slow ones overrun. */
enum speed { PACED, FULL_SPEED, SPEED_COUNT };
static const char *const speed_names[] = {"paced", "full speed"};

/* The worst of all rounds, except where it says otherwise. */
struct record {
  double *first_line_ms; /* one for each round */
  long resident_kib;
  double cpu_seconds;
  uint64_t lines;
  uint64_t dropped; /* the sum of all rounds */
  int right;        /* rounds */
};

static void send_burst(int socket, enum speed speed) {
  const struct route_request deletion = default_route_request(DELETE_ROUTE);
  for (int i = 0; i < BURST_CHANGES; i++) {
    if (speed == PACED && i % PACE_CHANGES == 0) sleep_ms(PACE_MS);
    if (i == BURST_CHANGES / 2) send_route_request(socket, &deletion);
    /* Each route comes and goes again. */
    change_host_route(socket, i % 2 ? DELETE_ROUTE : ADD_ROUTE, burst_first + i / 2);
  }
}

/* Sends from another process, so that reading the lines never slows the burst. */
static void run_burst(int socket, enum speed speed, struct peer *peer) {
  pid_t harness = getpid(), sender = fork();
  if (sender < 0) err(2, "fork");
  if (sender == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == harness) send_burst(socket, speed);
    _exit(0);
  }
  int status;
  while (waitpid(sender, &status, WNOHANG) == 0) peer_read(peer, READ_STEP_MS);
  if (status != 0) errx(2, "the burst was not sent");
}

static void wait_until_quiet(struct peer *peer) {
  uint64_t limit = now_ns() + QUIET_LIMIT_MS * UINT64_C(1000000);
  uint64_t cpu = process_cpu_ns(peer->pid), last_sign = now_ns();
  while (now_ns() < limit && now_ns() - last_sign < QUIET_MS * UINT64_C(1000000)) {
    if (peer_read(peer, QUIET_STEP_MS)) last_sign = now_ns();
    uint64_t used = process_cpu_ns(peer->pid);
    if (used != cpu) last_sign = now_ns();
    cpu = used;
  }
}

static void measure_round(const struct options *options, enum peer_id id, int socket,
                          enum speed speed, struct record *record, int round) {
  const struct route_request addition = default_route_request(ADD_ROUTE);
  send_route_request(socket, &addition);
  struct peer peer;
  peer_start(&peer, id, options);
  if (peer_greets(id)) record->first_line_ms[round] = peer_wait_first_line(&peer) / 1e6;
  peer_wait_ready(&peer);

  uint64_t lines_before = peer.lines, cpu_before = process_cpu_ns(peer.pid);
  run_burst(socket, speed, &peer);
  wait_until_quiet(&peer);
  expect_no_refusal(socket);

  double cpu_seconds = (process_cpu_ns(peer.pid) - cpu_before) / 1e9;
  uint64_t lines = peer.lines - lines_before;
  long resident_kib = process_memory(peer.pid).resident_kib;
  if (cpu_seconds > record->cpu_seconds) record->cpu_seconds = cpu_seconds;
  if (lines > record->lines) record->lines = lines;
  if (resident_kib > record->resident_kib) record->resident_kib = resident_kib;
  record->dropped += process_netlink(peer.pid).dropped;
  const char *mark = peer_unreachable_mark(id);
  if (mark != NULL && strstr(peer.last_line, mark) != NULL) record->right++;
  peer_stop(&peer);
}

static void print_row(enum peer_id id, enum speed speed, struct record *records, int rounds) {
  struct record *record = &records[id];
  char first_line[32] = "-", right[32] = "-";
  if (peer_greets(id))
    snprintf(first_line, sizeof first_line, "%.1f", median(record->first_line_ms, rounds));
  if (peer_unreachable_mark(id) != NULL)
    snprintf(right, sizeof right, "%d of %d", record->right, rounds);
  printf("| %-10s | %-16s | %13s | %7ld | %11.3f | %7.4f | %17.4f | %6llu | %7llu | %8s |\n",
         speed_names[speed], peer_name(id), first_line, record->resident_kib,
         (double)record->resident_kib / records[GLIB].resident_kib, record->cpu_seconds,
         record->cpu_seconds / records[IP_MONITOR].cpu_seconds, (unsigned long long)record->lines,
         (unsigned long long)record->dropped, right);
}

static void print_table(struct record records[SPEED_COUNT][PEER_COUNT], int rounds) {
  printf("| %-10s | %-16s | first line ms | RSS KiB | RSS to GLib |   CPU s | CPU to ip monitor |"
         "  lines | dropped | right    |\n",
         "burst", "program");
  printf("|------------|------------------|--------------:|--------:|------------:|--------:|"
         "------------------:|-------:|--------:|---------:|\n");
  for (int speed = 0; speed < SPEED_COUNT; speed++) {
    for (int i = 0; i < CONTENDER_COUNT; i++)
      print_row(contenders[i], speed, records[speed], rounds);
  }
  printf("%d routes, a burst of %d changes and one of the default route, %d rounds\n\n",
         BACKGROUND_ROUTES, BURST_CHANGES, rounds);
}

static bool judge(const struct record *netwatch, enum speed speed, int rounds) {
  const char *name = speed_names[speed];
  bool met = verdict(netwatch->cpu_seconds <= cpu_target_seconds,
                     "%s: %.4f s of CPU in the burst, at most %.2f s", name,
                     netwatch->cpu_seconds, cpu_target_seconds);
  met &= verdict(netwatch->dropped == 0, "%s: %llu messages dropped, none allowed", name,
                 (unsigned long long)netwatch->dropped);
  met &= verdict(netwatch->right == rounds, "%s: right at the end in %d of %d rounds", name,
                 netwatch->right, rounds);
  return met;
}

bool run_storm(const struct options *options) {
  int rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
  struct record records[SPEED_COUNT][PEER_COUNT] = {0};
  for (int speed = 0; speed < SPEED_COUNT; speed++) {
    for (int id = 0; id < PEER_COUNT; id++)
      records[speed][id].first_line_ms = allocate(rounds, sizeof(double));
  }

  set_up_network();
  int socket = open_route_socket();
  add_background_routes(socket);
  for (int round = 0; round < rounds; round++) {
    progress("storm: round %d of %d", round + 1, rounds);
    for (int speed = 0; speed < SPEED_COUNT; speed++) {
      for (int i = 0; i < CONTENDER_COUNT; i++) {
        enum peer_id id = contenders[(round + i) % CONTENDER_COUNT];
        measure_round(options, id, socket, speed, &records[speed][id], round);
      }
    }
  }

  print_table(records, rounds);
  bool met = true;
  for (int speed = 0; speed < SPEED_COUNT; speed++)
    met &= judge(&records[speed][NETWATCH], speed, rounds);
  return met;
}
