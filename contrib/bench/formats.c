/* From the kernel's change to the first byte of a bar's line, beside the JSON line, and from exec to that of a status. */
#include <stdio.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"
#include "routes.h"

enum {
  DEFAULT_ROUNDS = 15,
  STARTS = 10, /* of each format in each round */
  WARM_UP_CHANGES = 6, /* even, so that each start begins without the route */
  CHANGES_PER_START = 6,
  CHANGES = STARTS * CHANGES_PER_START,
  COLD_STARTS = 20,
};

static const double ratio_target = 1.1, cold_target_ms = 10, beside_c_target_ms = 2;
static const enum peer_id formats[] = {NETWATCH, NETWATCH_WAYBAR, NETWATCH_POLYBAR, NETWATCH_TMUX};
/* The last one is not netwatch: the time until C has its first line. */
static const enum peer_id questions[] = {NETWATCH_ONCE, NETWATCH_BAR_ONCE, C_RAW_Q};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats, QUESTION_COUNT = sizeof questions / sizeof *questions };

struct record {
  double samples[CHANGES]; /* microseconds, of one round */
  size_t count;
  double *medians; /* of the rounds */
  double *ratios;
  int misses;
};

static void measure_start(const struct options *options, enum peer_id id, int socket, struct record *record) {
  const struct route_request requests[] = {default_route_request(ADD_ROUTE), default_route_request(DELETE_ROUTE)};
  struct peer peer;
  peer_start(&peer, id, options);
  peer_wait_ready(&peer);
  for (int i = 0; i < WARM_UP_CHANGES + CHANGES_PER_START; i++) {
    double microseconds = peer_time_change(&peer, socket, &requests[i % 2]);
    if (microseconds < 0) {
      record->misses++;
    } else if (i >= WARM_UP_CHANGES) {
      record->samples[record->count++] = microseconds;
    }
  }
  peer_stop(&peer);
}

static bool measure_cold(const struct options *options) {
  double samples[QUESTION_COUNT][COLD_STARTS];
  for (int start = 0; start < COLD_STARTS; start++) {
    for (int question = 0; question < QUESTION_COUNT; question++) {
      struct peer peer;
      peer_start(&peer, questions[question], options);
      samples[question][start] = peer_wait_first_line(&peer) / 1e6;
      peer_stop(&peer);
    }
  }
  bool met = true;
  double middle[QUESTION_COUNT];
  for (int question = 0; question < QUESTION_COUNT; question++) {
    middle[question] = median(samples[question], COLD_STARTS);
    met &= verdict(middle[question] <= cold_target_ms, "%s: %.1f ms from exec, at most %.0f (longest of %d: %.1f)",
                   peer_name(questions[question]), middle[question], cold_target_ms, COLD_STARTS,
                   percentile(samples[question], COLD_STARTS, 1));
  }
  double more = middle[0] - middle[QUESTION_COUNT - 1];
  met &= verdict(more <= beside_c_target_ms, "netwatch status: %.2f ms more than C, at most %.0f", more, beside_c_target_ms);
  return met;
}

bool run_formats(const struct options *options) {
  int rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
  struct record records[FORMAT_COUNT] = {0};
  for (int i = 0; i < FORMAT_COUNT; i++) {
    records[i].medians = allocate(rounds, sizeof(double));
    records[i].ratios = allocate(rounds, sizeof(double));
  }
  set_up_network();
  int socket = open_route_socket();
  for (int round = 0; round < rounds; round++) {
    progress("formats: round %d of %d", round + 1, rounds);
    for (int i = 0; i < FORMAT_COUNT; i++) records[i].count = 0;
    for (int start = 0; start < STARTS; start++) {
      /* Another one begins each time, so that drift of the machine meets all alike. */
      for (int i = 0; i < FORMAT_COUNT; i++) {
        int which = (round + start + i) % FORMAT_COUNT;
        measure_start(options, formats[which], socket, &records[which]);
      }
    }
    for (int i = 0; i < FORMAT_COUNT; i++) {
      records[i].medians[round] = median(records[i].samples, records[i].count);
      records[i].ratios[round] = records[i].medians[round] / records[0].medians[round];
    }
  }

  printf("| %-8s | p50 us | misses | ratio to JSON |\n|----------|-------:|-------:|--------------:|\n", "format");
  bool met = true;
  double ratios[FORMAT_COUNT];
  for (int i = 0; i < FORMAT_COUNT; i++) {
    ratios[i] = median(records[i].ratios, rounds);
    printf("| %-8s | %6.0f | %6d | %13.3f |\n", i == 0 ? "json" : peer_name(formats[i]),
           median(records[i].medians, rounds), records[i].misses, ratios[i]);
  }
  printf("%d changes of the default route for each format, in %d rounds of %d starts\n\n", rounds * CHANGES, rounds,
         STARTS);
  for (int i = 1; i < FORMAT_COUNT; i++) {
    met &= verdict(ratios[i] <= ratio_target && records[i].misses == 0, "%s: ratio to JSON %.3f, at most %.2f, no misses",
                   peer_name(formats[i]), ratios[i], ratio_target);
  }
  return measure_cold(options) && met;
}
