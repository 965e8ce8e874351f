/* latency --probe: from the kernel's change to the line, while a probe of the internet hangs. */
#define _GNU_SOURCE

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"
#include "process.h"
#include "routes.h"

enum {
  DEFAULT_ROUNDS = 15,
  STARTS = 3,
  WARM_UP_LOSSES = 1,
  LOSSES_PER_START = 4,
  LOSSES = STARTS * LOSSES_PER_START,
  SETTLING_MS = 200, /* as netwatch lets a path settle */
  PAUSE_MS = 100,
  PROBE_LIMIT_MS = 5000,
};

static const enum peer_id peers[] = {NETWATCH, NETWATCH_PROBING, C_RAW_Q};
enum { PEERS = sizeof peers / sizeof *peers };

/* "Unchanged", as far as a machine can tell. */
static const double ratio_target = 1.10;
static char probe_url[] = "http://192.0.2.1/";

struct record {
  double *samples; /* microseconds, of all rounds */
  size_t count;
  double *round_medians; /* 0 if all losses of the round were missed */
  int misses;
};

/* Whether somebody in this network waits for an answer to his SYN. */
static bool is_connecting(void) {
  FILE *table = fopen("/proc/self/net/tcp", "re");
  if (table == NULL) err(2, "/proc/self/net/tcp");
  char line[256];
  unsigned state;
  bool found = false;
  while (!found && fgets(line, sizeof line, table) != NULL)
    found = sscanf(line, " %*d: %*s %*s %x", &state) == 1 && state == 2;
  fclose(table);
  return found;
}

static void wait_until_probe_hangs(void) {
  for (int waited = 0; !is_connecting(); waited++) {
    if (waited > PROBE_LIMIT_MS) errx(2, "there is no probe; is netwatch-http beside netwatch?");
    sleep_ms(1);
  }
}

/* The same program that netwatch starts, for the others: what it does to caches and to the network is done to all. */
static pid_t start_probe(const struct options *options) {
  char path[4096];
  const char *slash = strrchr(options->netwatch, '/');
  snprintf(path, sizeof path, "%.*s/netwatch-http", (int)(slash - options->netwatch), options->netwatch);
  char *arguments[] = {path, "probe", "--interface=v0", probe_url, NULL};
  int messages = open_log(options, "netwatch-http");
  pid_t pid = process_start(path, arguments, messages, messages);
  close(messages);
  return pid;
}

/* Only losses are timed: when a path comes, no probe hangs. */
static void measure_start(const struct options *options, enum peer_id id, int socket, struct record *record) {
  const struct route_request gain = default_route_request(ADD_ROUTE);
  const struct route_request loss = default_route_request(DELETE_ROUTE);
  struct peer peer;
  peer_start(&peer, id, options);
  if (options->apart) process_pin(peer.pid, 1);
  peer_wait_ready(&peer);
  for (int i = 0; i < WARM_UP_LOSSES + LOSSES_PER_START; i++) {
    peer_time_change(&peer, socket, &gain);
    sleep_ms(SETTLING_MS);
    pid_t probe = id == NETWATCH_PROBING ? 0 : start_probe(options);
    if (probe > 0 && options->apart) process_pin(probe, 1);
    wait_until_probe_hangs();
    sleep_ms(PAUSE_MS);
    double microseconds = peer_time_change(&peer, socket, &loss);
    if (probe > 0) process_stop(probe);
    if (i < WARM_UP_LOSSES) continue;
    if (microseconds < 0)
      record->misses++;
    else
      record->samples[record->count++] = microseconds;
  }
  peer_stop(&peer);
}

bool run_probe_latency(const struct options *options) {
  int rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
  struct record records[PEERS];
  for (int i = 0; i < PEERS; i++) {
    records[i] = (struct record){.samples = allocate(rounds * LOSSES, sizeof(double)),
                                 .round_medians = allocate(rounds, sizeof(double))};
  }
  if (options->apart) process_pin(getpid(), 0);
  set_up_network();
  /* A gateway that swallows what it gets. */
  if (system("ip neighbour add 10.0.0.2 lladdr 02:00:00:00:00:01 dev v0 nud permanent") != 0) errx(2, "no neighbour");
  int socket = open_route_socket();
  for (int round = 0; round < rounds; round++) {
    progress("latency --probe: round %d of %d", round + 1, rounds);
    size_t before[PEERS];
    for (int i = 0; i < PEERS; i++) before[i] = records[i].count;
    for (int start = 0; start < STARTS; start++) {
      for (int i = 0; i < PEERS; i++) {
        int turn = (round + start + i) % PEERS;
        measure_start(options, peers[turn], socket, &records[turn]);
      }
    }
    for (int i = 0; i < PEERS; i++) {
      double samples[LOSSES];
      size_t count = records[i].count - before[i];
      memcpy(samples, records[i].samples + before[i], count * sizeof *samples);
      records[i].round_medians[round] = median(samples, count);
    }
  }

  printf("| %-16s | p50 us | p99 us | max us | misses | ratio to netwatch |\n", "program");
  printf("|------------------|-------:|-------:|-------:|-------:|------------------:|\n");
  double ratios[PEERS];
  for (int i = 0; i < PEERS; i++) {
    struct record *record = &records[i];
    ratios[i] = median_ratio(record->round_medians, records[0].round_medians, rounds);
    printf("| %-16s | %6.0f | %6.0f | %6.0f | %6d | %17.3f |\n", peer_name(peers[i]),
           median(record->samples, record->count), percentile(record->samples, record->count, 0.99),
           percentile(record->samples, record->count, 1.0), record->misses, ratios[i]);
  }
  printf("%d losses of the default route for each program, in %d rounds of %d starts\n\n", rounds * LOSSES, rounds,
         STARTS);
  bool met = verdict(ratios[1] > 0 && ratios[1] <= ratio_target,
                     "with a probe of its own that hangs: ratio %.3f to netwatch beside another's, at most %.2f", ratios[1],
                     ratio_target);
  met &= verdict(records[1].misses == 0, "%d misses, none allowed", records[1].misses);
  return met;
}
