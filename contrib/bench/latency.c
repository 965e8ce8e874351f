/* From the kernel's change to the first byte of the line, one change outstanding at a time. */
#define _GNU_SOURCE

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"
#include "process.h"
#include "routes.h"

enum {
  DEFAULT_ROUNDS = 15,
  MOST_STARTS = 30, /* of a program in each round */
  WARM_UP_CHANGES = 6, /* even, so that each start begins without the route */
  CHANGES_PER_START = 6,
  MOST_CHANGES = MOST_STARTS * CHANGES_PER_START,
};

/* One start takes half as long again as the next, whatever the program, so those whose ratio has a target have many. c-raw-q
 * stands twice, so that it can be compared with itself. */
static const struct {
  enum peer_id id;
  int starts; /* a divisor of MOST_STARTS */
} contenders[] = {{NETWATCH, 30}, {C_RAW_Q, 30}, {C_RAW_Q, 30}, {C_RAW, 10}, {GLIB, 10}, {IP_MONITOR, 10}};
enum { OURS, REFERENCE, REFERENCE_AGAIN, GLIB_ROW = 4, COUNT = sizeof contenders / sizeof *contenders };

/* The largest difference of c-raw-q from itself in a run that is not repeated. */
static const double self_tolerance = 0.07;

/* With cold caches, the way of a program counts that is spread over more lines of cache and pages. */
static const double ratio_target = 1.40, cold_ratio_target = 1.50;

/* More than the caches of the first and second level of one processor hold. */
static const size_t other_memory_size = 8 << 20;
enum { CACHE_LINE = 64 };

struct record {
  double *samples; /* microseconds, of all rounds */
  size_t sample_count;
  double round_samples[MOST_CHANGES];
  size_t round_sample_count;
  double *round_medians; /* one for each round; 0 if all changes were missed */
  int misses;
};

/* Leaves the processor's caches to other memory. */
static void touch_other_memory(void) {
  static volatile char *memory;
  if (!memory && !(memory = malloc(other_memory_size))) err(2, "malloc");
  for (size_t place = 0; place < other_memory_size; place += CACHE_LINE) memory[place]++;
}

/* The scheduler wakes a reader on the writer's own processor or on another one, decides at its start, and stays with it;
 * the one takes three times as long as the other. With --apart it is always another one. */
static void measure_start(const struct options *options, enum peer_id id, int socket,
                          struct record *record) {
  const struct route_request requests[] = {default_route_request(ADD_ROUTE),
                                           default_route_request(DELETE_ROUTE)};
  struct peer peer;
  peer_start(&peer, id, options);
  if (options->apart || options->cold) process_pin(peer.pid, options->apart ? 1 : 0);
  peer_wait_ready(&peer);
  for (int i = 0; i < WARM_UP_CHANGES; i++) peer_time_change(&peer, socket, &requests[i % 2]);
  for (int i = 0; i < CHANGES_PER_START; i++) {
    if (options->cold) touch_other_memory();
    double microseconds = peer_time_change(&peer, socket, &requests[i % 2]);
    if (microseconds < 0) {
      record->misses++;
      continue;
    }
    record->samples[record->sample_count++] = microseconds;
    record->round_samples[record->round_sample_count++] = microseconds;
  }
  peer_stop(&peer);
}

bool run_latency(const struct options *options) {
  if (options->probe) return run_probe_latency(options);
  int rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
  struct record records[COUNT];
  for (int row = 0; row < COUNT; row++) {
    records[row] = (struct record){.samples = allocate(rounds * MOST_CHANGES, sizeof(double)),
                                   .round_medians = allocate(rounds, sizeof(double))};
  }

  if (options->apart || options->cold) process_pin(getpid(), 0);
  set_up_network();
  int socket = open_route_socket();
  for (int round = 0; round < rounds; round++) {
    progress("latency: round %d of %d", round + 1, rounds);
    for (int row = 0; row < COUNT; row++) records[row].round_sample_count = 0;
    for (int start = 0; start < MOST_STARTS; start++) {
      /* Another one begins each time, so that drift of the machine meets all alike. */
      for (int i = 0; i < COUNT; i++) {
        int row = (round + start + i) % COUNT;
        if (start % (MOST_STARTS / contenders[row].starts) != 0) continue;
        measure_start(options, contenders[row].id, socket, &records[row]);
      }
    }
    for (int row = 0; row < COUNT; row++) {
      struct record *record = &records[row];
      record->round_medians[round] = median(record->round_samples, record->round_sample_count);
    }
  }

  printf("| %-16s | p50 us | p99 us | max us | misses | ratio to c-raw-q |\n", "program");
  printf("|------------------|-------:|-------:|-------:|-------:|-----------------:|\n");
  double ratios[COUNT];
  for (int row = 0; row < COUNT; row++) {
    struct record *record = &records[row];
    ratios[row] = median_ratio(record->round_medians, records[REFERENCE].round_medians, rounds);
    double *samples = record->samples;
    size_t count = record->sample_count;
    printf("| %-16s | %6.0f | %6.0f | %6.0f | %6d | %16.3f |\n",
           row == REFERENCE_AGAIN ? "c-raw-q, again" : peer_name(contenders[row].id), median(samples, count),
           percentile(samples, count, 0.99), percentile(samples, count, 1.0), record->misses, ratios[row]);
  }
  printf("%d changes of the default route for netwatch, in %d rounds of %d starts\n\n",
         rounds * MOST_CHANGES, rounds, MOST_STARTS);

  double self = ratios[REFERENCE_AGAIN];
  bool met = verdict(self >= 1 - self_tolerance && self <= 1 + self_tolerance,
                     "c-raw-q's ratio to itself is %.3f; repeat this unless it is 0.93 to 1.07", self);
  double ratio = ratios[OURS];
  double target = options->cold ? cold_ratio_target : ratio_target;
  met &= verdict(ratio > 0 && ratio <= target, "ratio to c-raw-q %.3f, at most %.2f", ratio, target);
  if (!options->cold) met &= verdict(ratio > 0 && ratio < ratios[GLIB_ROW], "ratio to c-raw-q %.3f, below GLib's %.3f",
                 ratio, ratios[GLIB_ROW]);
  met &= verdict(records[OURS].misses == 0, "%d misses, none allowed",
                 records[OURS].misses);
  return met;
}
