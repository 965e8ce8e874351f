/* The service's subscribers: a thousand that read, and ten that never do beside ten that do. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness.h"
#include "process.h"
#include "routes.h"
#include "service.h"

enum {
  DEFAULT_ROUNDS = 5,
  SUBSCRIBERS = 1000,
  CHANGES = 100, /* in a round */
  SPACING_MS = 50,
  READERS = 10,
  STUCK = 10,
  PAIRS = 8, /* of phases in a round: without those that never read, and with them */
  FILL_CHANGES =
      100, /* of each phase, not measured: those that never read have no room left after them */
  PHASE_CHANGES = 1000, /* even, like all of these: every phase begins with the same state */
  PHASE_SAMPLES = PHASE_CHANGES * READERS,
  LATE_MS = 2000,      /* a line that comes later is lost */
  IMPATIENCE_MS = 500, /* then the next change is made all the same */
  SETTLE_MS = 100,
  EVENTS = 256,
};

static const double spread_target_ms = 20, idle_target_kib = 4, delay_target = 1.1,
                    stuck_target_kib = 64;

/* Each change is one line: a request that runs all the time keeps the indicator's timers quiet. */
static const char *const messages[] = {"{\"begin\":\"2\"}\n", "{\"end\":\"2\"}\n"};

enum kind { SPACED, ALONE, BESIDE_STUCK, KIND_COUNT };
static const char *const kind_names[] = {"1000, every 50 ms", "10, at once", "10, beside 10 stuck"};

struct record {
  double *delays_us; /* from just before the change to a subscriber's line */
  size_t delay_count;
  double *spreads_ms; /* one for each change: from the first one's line to the last one's */
  size_t spread_count;
  long lost;
  double each_kib; /* the worst round's */
};

struct crowd {
  struct service service;
  struct client *clients;
  struct client sender;
  int count;
  int epoll;
  uint64_t sequence; /* of the line that all have */
};

/* Where one change stands. */
struct change {
  uint64_t sequence;
  uint64_t sent_ns;
  uint64_t first_ns;
  uint64_t last_ns;
  int lines;
};

static struct change *find_change(struct change *changes, int count, uint64_t sequence) {
  uint64_t place = sequence - changes[0].sequence;
  return place < (uint64_t)count ? &changes[place] : NULL;
}

static void take_lines(struct client *client, struct change *changes, int count,
                       struct record *record) {
  while (client_next_line(client)) {
    struct change *change = find_change(changes, count, client->sequence);
    if (change == NULL || change->sent_ns == 0)
      errx(2, "a line about something else came in between");
    if (change->lines++ == 0) change->first_ns = client->read_ns;
    change->last_ns = client->read_ns;
    if (record != NULL)
      record->delays_us[record->delay_count++] = (client->read_ns - change->sent_ns) / 1e3;
  }
}

/* Reads what comes until everybody has the newest change and it is time for the next one, but not
 * beyond the limit. */
static void hear(struct crowd *crowd, struct change *changes, int count,
                 const struct change *newest, uint64_t next_ns, uint64_t limit_ns,
                 struct record *record) {
  struct epoll_event events[EVENTS];
  for (;;) {
    uint64_t now = now_ns(), until = newest->lines == crowd->count ? next_ns : limit_ns;
    if (now >= until) return;
    int ready = epoll_wait(crowd->epoll, events, EVENTS, (until - now + 999999) / 1000000);
    if (ready < 0) err(2, "epoll_wait");
    for (int i = 0; i < ready; i++) {
      struct client *client = events[i].data.ptr;
      if (client_read(client)) take_lines(client, changes, count, record);
    }
  }
}

/* With no spacing, each change is made as soon as all have the one before. With any, it waits for
 * them too: the service makes one line, or none, of two changes that come to it at once. */
static void run_changes(struct crowd *crowd, int count, int spacing_ms, struct record *record) {
  struct change *changes = allocate(count, sizeof *changes);
  for (int i = 0; i < count; i++) changes[i].sequence = crowd->sequence + 1 + i;
  for (int i = 0; i < count; i++) {
    uint64_t sent = now_ns();
    int patience_ms = i + 1 == count ? LATE_MS : IMPATIENCE_MS;
    changes[i].sent_ns = sent;
    client_send(&crowd->sender, messages[i % 2]);
    hear(crowd, changes, count, &changes[i], sent + spacing_ms * UINT64_C(1000000),
         sent + patience_ms * UINT64_C(1000000), record);
  }
  for (int i = 0; i < count && record != NULL; i++) {
    record->lost += crowd->count - changes[i].lines;
    if (changes[i].lines > 0)
      record->spreads_ms[record->spread_count++] =
          (changes[i].last_ns - changes[i].first_ns) / 1e6;
  }
  crowd->sequence += count;
  free(changes);
}

/* A service whose indicator is active, and nobody but the sender. */
static void start_crowd(struct crowd *crowd, const struct options *options) {
  static struct client first;
  *crowd = (struct crowd){.epoll = epoll_create1(EPOLL_CLOEXEC)};
  if (crowd->epoll < 0) err(2, "epoll_create1");
  service_start(&crowd->service, options);
  client_connect(&first, &crowd->service);
  client_connect_silent(&crowd->sender, &crowd->service);
  client_send(&crowd->sender, "{\"begin\":\"1\"}\n");
  if (!client_await(&first, "\"visible\":true", LATE_MS))
    errx(2, "the indicator does not become visible");
  client_read_until_silent(&first, SETTLE_MS);
  crowd->sequence = first.sequence;
  client_close(&first);
  sleep_ms(SETTLE_MS);
}

static void greet(struct crowd *crowd, struct client *client) {
  if (!client_await(client, "\"event\":\"initial\"", LATE_MS) ||
      client->sequence != crowd->sequence)
    errx(2, "a subscriber was not greeted with the newest state");
}

static void add_subscribers(struct crowd *crowd, int count) {
  crowd->count = count;
  crowd->clients = allocate(count, sizeof *crowd->clients);
  for (int i = 0; i < count; i++) {
    struct client *client = &crowd->clients[i];
    client_connect(client, &crowd->service);
    greet(crowd, client);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    if (epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, client->socket, &event) < 0) err(2, "epoll_ctl");
  }
}

static void stop_crowd(struct crowd *crowd) {
  for (int i = 0; i < crowd->count; i++) client_close(&crowd->clients[i]);
  client_close(&crowd->sender);
  close(crowd->epoll);
  free(crowd->clients);
  service_stop(&crowd->service);
}

static void note_growth(struct record *record, const struct crowd *crowd, struct memory before,
                        int count) {
  long growth = process_memory(crowd->service.pid).private_dirty_kib - before.private_dirty_kib;
  double each = (double)growth / count;
  if (each > record->each_kib) record->each_kib = each;
}

static void measure_thousand(const struct options *options, struct record *record) {
  struct crowd crowd;
  start_crowd(&crowd, options);
  struct memory before = process_memory(crowd.service.pid);
  add_subscribers(&crowd, SUBSCRIBERS);
  sleep_ms(SETTLE_MS);
  note_growth(record, &crowd, before, SUBSCRIBERS);
  run_changes(&crowd, CHANGES, SPACING_MS, record);
  stop_crowd(&crowd);
}

/* The median of the delays in one phase. */
static double measure_phase(struct crowd *crowd, struct record *record) {
  static double delays[PHASE_SAMPLES];
  run_changes(crowd, FILL_CHANGES, 0, NULL);
  size_t first = record->delay_count;
  run_changes(crowd, PHASE_CHANGES, 0, record);
  size_t count = record->delay_count - first;
  memcpy(delays, record->delays_us + first, count * sizeof *delays);
  return median(delays, count);
}

static void read_until_silent(struct client *stuck) {
  for (int silence = 0; silence < SETTLE_MS; silence++) {
    for (int i = 0; i < STUCK; i++) {
      if (!client_read(&stuck[i])) continue;
      silence = 0;
      while (client_next_line(&stuck[i])) {
      }
    }
    sleep_ms(1);
  }
}

/* How many of those that never read had the newest line when they did at last. */
static double measure_phase_beside(struct crowd *crowd, struct record *record, int *found) {
  static struct client stuck[STUCK];
  struct memory before = process_memory(crowd->service.pid);
  for (int i = 0; i < STUCK; i++) client_connect(&stuck[i], &crowd->service);
  sleep_ms(SETTLE_MS);
  double delay = measure_phase(crowd, record);
  note_growth(record, crowd, before, STUCK);
  read_until_silent(stuck);
  for (int i = 0; i < STUCK; i++) {
    *found += stuck[i].line != NULL && strcmp(stuck[i].line, crowd->clients[0].line) == 0;
    client_close(&stuck[i]);
  }
  sleep_ms(SETTLE_MS);
  return delay;
}

static void measure_stuck(const struct options *options, struct record *records, double *ratios,
                          int *found) {
  struct crowd crowd;
  start_crowd(&crowd, options);
  add_subscribers(&crowd, READERS);
  run_changes(&crowd, FILL_CHANGES, 0, NULL);
  for (int pair = 0; pair < PAIRS; pair++) {
    double alone = 0, beside;
    if (pair % 2 == 0) alone = measure_phase(&crowd, &records[ALONE]);
    beside = measure_phase_beside(&crowd, &records[BESIDE_STUCK], found);
    if (pair % 2 == 1) alone = measure_phase(&crowd, &records[ALONE]);
    ratios[pair] = beside / alone;
  }
  stop_crowd(&crowd);
}

static void allow_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) err(2, "getrlimit");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0) err(2, "setrlimit");
  if (limit.rlim_cur < SUBSCRIBERS + 100)
    errx(2, "%d subscribers need as many descriptors, and %llu are allowed", SUBSCRIBERS,
         (unsigned long long)limit.rlim_cur);
}

static void print_table(struct record *records) {
  printf("| %-19s | changes | delay p50 us | p99 us | first to last p50 ms | p99 ms | max ms | "
         "lost lines | KiB each |\n",
         "subscribers");
  printf("|---------------------|--------:|-------------:|-------:|---------------------:|-------:|"
         "-------:|"
         "-----------:|---------:|\n");
  for (int kind = 0; kind < KIND_COUNT; kind++) {
    struct record *record = &records[kind];
    char each[32] = "-";
    if (kind != ALONE) snprintf(each, sizeof each, "%.1f", record->each_kib);
    printf("| %-19s | %7zu | %12.0f | %6.0f | %20.2f | %6.2f | %6.2f | %10ld | %8s |\n",
           kind_names[kind], record->spread_count, median(record->delays_us, record->delay_count),
           percentile(record->delays_us, record->delay_count, 0.99),
           median(record->spreads_ms, record->spread_count),
           percentile(record->spreads_ms, record->spread_count, 0.99),
           percentile(record->spreads_ms, record->spread_count, 1), record->lost, each);
  }
}

static bool judge(struct record *records, double *ratios, int found, int rounds) {
  struct record *spaced = &records[SPACED];
  double spread = percentile(spaced->spreads_ms, spaced->spread_count, 0.99);
  double ratio = median(ratios, rounds * PAIRS);
  long lost = records[SPACED].lost + records[ALONE].lost + records[BESIDE_STUCK].lost;
  bool met = verdict(spread <= spread_target_ms,
                     "from the first of %d to the last in %.2f ms at p99, at most %.0f",
                     SUBSCRIBERS, spread, spread_target_ms);
  met &= verdict(lost == 0, "%ld lines lost, none allowed", lost);
  met &=
      verdict(spaced->each_kib <= idle_target_kib,
              "an idle subscriber takes %.2f KiB, at most %.0f", spaced->each_kib, idle_target_kib);
  met &= verdict(ratio <= delay_target,
                 "beside %d that never read, others wait %.3f x as long, at most %.1f", STUCK,
                 ratio, delay_target);
  met &= verdict(records[BESIDE_STUCK].each_kib <= stuck_target_kib,
                 "one that never reads takes %.1f KiB, at most %.0f",
                 records[BESIDE_STUCK].each_kib, stuck_target_kib);
  met &= verdict(found == rounds * PAIRS * STUCK,
                 "%d of %d found the newest line when they read at last", found,
                 rounds * PAIRS * STUCK);
  return met;
}

bool run_fanout(const struct options *options) {
  int rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS, found = 0;
  const size_t changes[] = {CHANGES, PAIRS * PHASE_CHANGES, PAIRS * PHASE_CHANGES};
  struct record records[KIND_COUNT] = {0};
  for (int kind = 0; kind < KIND_COUNT; kind++) {
    size_t count = rounds * changes[kind];
    records[kind].spreads_ms = allocate(count, sizeof(double));
    records[kind].delays_us =
        allocate(count * (kind == SPACED ? SUBSCRIBERS : READERS), sizeof(double));
  }
  double *ratios = allocate(rounds * PAIRS, sizeof(double));

  allow_descriptors();
  set_up_network();
  int socket = open_route_socket();
  const struct route_request addition = default_route_request(ADD_ROUTE);
  send_route_request(socket, &addition);
  expect_no_refusal(socket);
  for (int round = 0; round < rounds; round++) {
    progress("fanout: round %d of %d", round + 1, rounds);
    measure_thousand(options, &records[SPACED]);
    measure_stuck(options, records, ratios + round * PAIRS, &found);
  }

  print_table(records);
  printf("%d rounds; the ratio of the delays is the median of %d pairs\n\n", rounds,
         rounds * PAIRS);
  return judge(records, ratios, found, rounds);
}
