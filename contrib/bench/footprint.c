/* Time to the first line, and what a program costs while nothing happens. */
#include <stdio.h>

#include "harness.h"
#include "peer.h"
#include "process.h"
#include "routes.h"

enum { DEFAULT_ROUNDS = 30, SETTLE_MS = 1000, IDLE_SECONDS = 10 };

/* What a program may cost beside C. That of the packages is linked to the machine's own libraries, which the loader has to find. */
static const struct budget {
  double start_ms;
  long private_dirty_kib;
} static_budget = {1.0, 600}, packaged_budget = {2.5, 800};
enum { GROWTH_TARGET_KIB = 64 };

static const enum peer_id contenders[] = {NETWATCH, C_RAW_Q, GLIB};
enum { CONTENDER_COUNT = sizeof contenders / sizeof *contenders };

struct record {
  double *start_ms; /* one for each round */
  double start_median_ms;
  struct memory idle;
  struct memory beside_routes;
  int libraries;
  int threads;
  int wakeups;
  long file_kib;
};

static void measure_starts(const struct options *options, struct record *records, int rounds) {
  for (int round = 0; round < rounds; round++) {
    if (round % 10 == 0) progress("footprint: start %d of %d", round + 1, rounds);
    for (int i = 0; i < CONTENDER_COUNT; i++) {
      enum peer_id id = contenders[(round + i) % CONTENDER_COUNT];
      struct peer peer;
      peer_start(&peer, id, options);
      records[id].start_ms[round] = peer_wait_first_line(&peer) / 1e6;
      peer_stop(&peer);
    }
  }
  for (int id = 0; id < PEER_COUNT; id++)
    records[id].start_median_ms = median(records[id].start_ms, rounds);
}

static void start_idle(const struct options *options, struct peer *peers) {
  for (int i = 0; i < CONTENDER_COUNT; i++) {
    peer_start(&peers[i], contenders[i], options);
    peer_wait_ready(&peers[i]);
  }
  sleep_ms(SETTLE_MS);
}

/* All three at once: they do not disturb each other, as nothing happens. */
static void measure_idle(const struct options *options, struct record *records) {
  static struct peer peers[CONTENDER_COUNT];
  uint64_t wakeups[CONTENDER_COUNT];
  progress("footprint: %d s idle", IDLE_SECONDS);
  start_idle(options, peers);
  for (int i = 0; i < CONTENDER_COUNT; i++) wakeups[i] = process_wakeups(peers[i].pid);
  sleep_ms(IDLE_SECONDS * 1000);
  for (int i = 0; i < CONTENDER_COUNT; i++) {
    pid_t pid = peers[i].pid;
    struct record *record = &records[contenders[i]];
    record->wakeups = process_wakeups(pid) - wakeups[i];
    record->idle = process_memory(pid);
    record->libraries = process_shared_libraries(pid);
    record->threads = process_threads(pid);
    record->file_kib = process_file_kib(pid);
    peer_stop(&peers[i]);
  }
}

static void measure_beside_routes(const struct options *options, struct record *records) {
  static struct peer peers[CONTENDER_COUNT];
  start_idle(options, peers);
  for (int i = 0; i < CONTENDER_COUNT; i++) {
    records[contenders[i]].beside_routes = process_memory(peers[i].pid);
    peer_stop(&peers[i]);
  }
}

static void print_table(const struct record *records) {
  const struct record *base = &records[C_RAW_Q];
  printf("| %-12s | first line ms | ratio to C | RSS KiB | private dirty KiB | file KiB | "
         "libraries | threads | wake-ups in %d s | RSS beside routes | dirty beside routes |\n",
         "program", IDLE_SECONDS);
  printf("|--------------|--------------:|-----------:|--------:|------------------:|---------:|"
         "----------:|--------:|-----------------:|------------------:|--------------------:|\n");
  for (int i = 0; i < CONTENDER_COUNT; i++) {
    const struct record *record = &records[contenders[i]];
    printf("| %-12s | %13.2f | %10.2f | %7ld | %17ld | %8ld | %9d | %7d | %16d | %17ld | %19ld |\n",
           peer_name(contenders[i]), record->start_median_ms,
           record->start_median_ms / base->start_median_ms, record->idle.resident_kib,
           record->idle.private_dirty_kib, record->file_kib, record->libraries, record->threads,
           record->wakeups, record->beside_routes.resident_kib,
           record->beside_routes.private_dirty_kib);
  }
}

static bool judge(const struct record *records) {
  const struct record *netwatch = &records[NETWATCH];
  const struct budget *budget = netwatch->libraries == 0 ? &static_budget : &packaged_budget;
  double more = netwatch->start_median_ms - records[C_RAW_Q].start_median_ms;
  long growth = netwatch->beside_routes.private_dirty_kib - netwatch->idle.private_dirty_kib;
  bool met = verdict(more <= budget->start_ms, "first line %.2f ms after C's, at most %.1f", more, budget->start_ms);
  met &= verdict(netwatch->idle.private_dirty_kib <= budget->private_dirty_kib, "%ld KiB private dirty, at most %ld",
                 netwatch->idle.private_dirty_kib, budget->private_dirty_kib);
  met &= verdict(netwatch->threads == 1, "%d threads, one allowed", netwatch->threads);
  met &= verdict(netwatch->wakeups == 0, "%d wake-ups in %d s, none allowed", netwatch->wakeups,
                 IDLE_SECONDS);
  met &= verdict(growth <= GROWTH_TARGET_KIB,
                 "%d routes add %ld KiB private dirty, at most %d", BACKGROUND_ROUTES, growth,
                 GROWTH_TARGET_KIB);
  return met;
}

bool run_footprint(const struct options *options) {
  int rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
  struct record records[PEER_COUNT] = {0};
  for (int id = 0; id < PEER_COUNT; id++)
    records[id].start_ms = allocate(rounds, sizeof(double));

  set_up_network();
  int socket = open_route_socket();
  const struct route_request addition = default_route_request(ADD_ROUTE);
  send_route_request(socket, &addition);
  expect_no_refusal(socket);

  measure_starts(options, records, rounds);
  measure_idle(options, records);
  add_background_routes(socket);
  measure_beside_routes(options, records);

  print_table(records);
  printf("first line: median of %d interleaved starts; beside %d routes\n\n", rounds,
         BACKGROUND_ROUTES);
  return judge(records);
}
