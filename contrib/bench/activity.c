/* What begin and end cost beside a lock, and when the service's readers hear of them. */
#include <err.h>
#include <stdio.h>

#include "harness.h"
#include "service.h"

enum { DEFAULT_ROUNDS = 10, ANSWER_LIMIT_MS = 5000, PAUSE_MS = 100 };

static const double ratio_target = 6;
static const double shown_target_ms[] = {1000, 1060};
static const double hidden_target_ms[] = {170, 230};

/* The first five are what bench-activity prints, in this order. */
enum row {
  LOCK,
  DELAYING_START,
  ACTIVE,
  SAME_ID,
  NEW_IDS,
  COST_COUNT,
  SHOWN = COST_COUNT,
  HIDDEN,
  ROW_COUNT
};

static const char *const row_names[] = {
    [LOCK] = "lock and unlock, ns",
    [DELAYING_START] = "begin and end, delayingStart, ns",
    [ACTIVE] = "begin and end, active, ns",
    [SAME_ID] = "began and ended, same id, ns",
    [NEW_IDS] = "began and ended, new ids, ns",
    [SHOWN] = "begin to the line, shown, ms",
    [HIDDEN] = "end to the line, hidden, ms",
};

struct record {
  double *samples[ROW_COUNT]; /* one for each round */
  double *ratios[COST_COUNT]; /* to the lock of the same round */
  unsigned long long allocations[COST_COUNT];
};

static void measure_costs(const struct options *options, struct record *record, int rounds) {
  char command[4200];
  snprintf(command, sizeof command, "'%s/release/bench-activity' %d", options->programs, rounds);
  FILE *output = popen(command, "r");
  if (output == NULL) err(2, "popen");
  for (int round = 0; round < rounds; round++) {
    for (int row = 0; row < COST_COUNT; row++) {
      if (fscanf(output, "%lf", &record->samples[row][round]) != 1)
        errx(2, "bench-activity prints too little");
      record->ratios[row][round] = record->samples[row][round] / record->samples[LOCK][round];
    }
  }
  if (fscanf(output, "%llu %llu", &record->allocations[DELAYING_START],
             &record->allocations[ACTIVE]) != 2)
    errx(2, "bench-activity prints too little");
  if (pclose(output) != 0) errx(2, "bench-activity failed");
}

/* Milliseconds from just before the message until the reader has the line. */
static double time_message(struct client *sender, const char *message, struct client *reader,
                           const char *mark) {
  uint64_t started = now_ns();
  client_send(sender, message);
  if (!client_await(reader, mark, ANSWER_LIMIT_MS)) errx(2, "no line with %s", mark);
  return (reader->read_ns - started) / 1e6;
}

static void measure_delays(const struct options *options, struct record *record, int rounds) {
  static struct client reader, sender;
  struct service service;
  service_start(&service, options);
  client_connect(&reader, &service);
  client_connect_silent(&sender, &service);
  client_read_until_silent(&reader, PAUSE_MS);
  for (int round = 0; round < rounds; round++) {
    progress("activity: round %d of %d", round + 1, rounds);
    record->samples[SHOWN][round] =
        time_message(&sender, "{\"begin\":\"1\"}\n", &reader, "\"visible\":true");
    sleep_ms(PAUSE_MS);
    record->samples[HIDDEN][round] =
        time_message(&sender, "{\"end\":\"1\"}\n", &reader, "\"visible\":false");
    sleep_ms(PAUSE_MS);
  }
  client_close(&reader);
  client_close(&sender);
  service_stop(&service);
}

static void print_table(struct record *record, int rounds) {
  printf("| %-32s |     min |  median |     max | to lock and unlock | allocations |\n", "");
  printf("|----------------------------------|--------:|--------:|--------:|-------------------:|--"
         "----------:|\n");
  for (int row = 0; row < ROW_COUNT; row++) {
    char ratio[32] = "-", allocations[32] = "-";
    if (row < COST_COUNT)
      snprintf(ratio, sizeof ratio, "%.2f", median(record->ratios[row], rounds));
    if (row == DELAYING_START || row == ACTIVE)
      snprintf(allocations, sizeof allocations, "%llu", record->allocations[row]);
    double *samples = record->samples[row];
    printf("| %-32s | %7.1f | %7.1f | %7.1f | %18s | %11s |\n", row_names[row],
           percentile(samples, rounds, 0), median(samples, rounds), percentile(samples, rounds, 1),
           ratio, allocations);
  }
  printf("%d rounds\n\n", rounds);
}

static bool judge_delay(double *samples, int rounds, const char *name, const double *target) {
  double least = percentile(samples, rounds, 0), most = percentile(samples, rounds, 1);
  return verdict(least >= target[0] && most <= target[1],
                 "%s after %.1f to %.1f ms, within %.0f to %.0f", name, least, most, target[0],
                 target[1]);
}

static bool judge(struct record *record, int rounds) {
  double ratio = median(record->ratios[DELAYING_START], rounds);
  bool met =
      verdict(ratio <= ratio_target, "begin and end take %.2f x lock and unlock, at most %.0f",
              ratio, ratio_target);
  met &= verdict(record->allocations[DELAYING_START] == 0,
                 "%llu allocations while delayingStart, none allowed",
                 record->allocations[DELAYING_START]);
  met &= verdict(record->allocations[ACTIVE] == 0, "%llu allocations while active, none allowed",
                 record->allocations[ACTIVE]);
  met &= judge_delay(record->samples[SHOWN], rounds, "shown", shown_target_ms);
  met &= judge_delay(record->samples[HIDDEN], rounds, "hidden", hidden_target_ms);
  return met;
}

bool run_activity(const struct options *options) {
  int rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
  struct record record = {0};
  for (int row = 0; row < ROW_COUNT; row++) record.samples[row] = allocate(rounds, sizeof(double));
  for (int row = 0; row < COST_COUNT; row++) record.ratios[row] = allocate(rounds, sizeof(double));

  progress("activity: what begin and end cost");
  measure_costs(options, &record, rounds);
  measure_delays(options, &record, rounds);
  print_table(&record, rounds);
  return judge(&record, rounds);
}
