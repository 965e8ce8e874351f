/* libnetwatch beside the command: from a pulled cable to the callback and to the line; and what a monitor costs in a C program. */
#define _GNU_SOURCE

#include <err.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "process.h"
#include "routes.h"

enum {
  DEFAULT_ROUNDS = 15,
  STARTS = 5, /* of each program in each round */
  WARM_UP_CHANGES = 6,
  CHANGES_PER_START = 6, /* of which every other one is a pull */
  PULLS = STARTS * CHANGES_PER_START / 2,
  OPENINGS = 100,
  IDLE_SECONDS = 10,
  PATIENCE_MS = 5000,
  PRIVATE_DIRTY_TARGET_KIB = 1024,
};

static const double ratio_target = 1.15, open_target_ms = 3, self_ratio_tolerance = 0.03;

/* The command stands twice, so that it can be compared with itself. */
enum program { COMMAND, COMMAND_AGAIN, LIBRARY, PYTHON, PROGRAM_COUNT };
static const char *const names[] = {"netwatch -f", "netwatch -f again", "C", "Python"};

static char *arguments[PROGRAM_COUNT][8];

struct run {
  pid_t pid;
  int output;
};

static struct run start(const struct options *options, enum program program) {
  struct run run;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) err(2, "pipe");
  int messages = open_log(options, program == PYTHON ? "python" : "library");
  run.pid = process_start(arguments[program][0], arguments[program], ends[1], messages);
  run.output = ends[0];
  close(ends[1]);
  close(messages);
  return run;
}

static void stop(struct run *run) {
  process_stop(run->pid);
  close(run->output);
}

/* Reads what there is; the length, 0 if nothing comes in time. */
static size_t read_some(const struct run *run, char *buffer, size_t capacity, int patience) {
  struct pollfd waiting = {run->output, POLLIN, 0};
  if (poll(&waiting, 1, patience) != 1) return 0;
  ssize_t count = read(run->output, buffer, capacity - 1);
  if (count < 1) errx(2, "a program has ended; see its log");
  buffer[count] = 0;
  return count;
}

static void set_cable(int socket, bool is_up) {
  struct ifreq request = {.ifr_name = "v1", .ifr_flags = is_up ? IFF_UP : 0};
  if (ioctl(socket, SIOCSIFFLAGS, &request) != 0) err(2, "SIOCSIFFLAGS");
}

/* Microseconds from just before the change to the first byte; then waits until the program is quiet. */
static double time_change(const struct run *run, int socket, bool is_up) {
  char buffer[16384];
  uint64_t before = now_ns();
  set_cable(socket, is_up);
  if (read_some(run, buffer, sizeof buffer, PATIENCE_MS) == 0) errx(2, "nothing is told of the cable");
  double microseconds = (now_ns() - before) / 1e3;
  while (read_some(run, buffer, sizeof buffer, 30) > 0) {
  }
  return microseconds;
}

struct record {
  double pulls[1024];
  size_t count;
  double round_pulls[PULLS];
  double *round_medians;
};

static void measure_pulls(const struct options *options, enum program program, int socket, struct record *record, int start_number) {
  char buffer[16384];
  struct run run = start(options, program);
  if (read_some(&run, buffer, sizeof buffer, PATIENCE_MS) == 0) errx(2, "%s says nothing", names[program]);
  sleep_ms(50);
  for (int i = 0; i < WARM_UP_CHANGES; i++) time_change(&run, socket, i % 2);
  for (int i = 0; i < CHANGES_PER_START / 2; i++) {
    double microseconds = time_change(&run, socket, false);
    time_change(&run, socket, true);
    record->round_pulls[start_number * CHANGES_PER_START / 2 + i] = microseconds;
    if (record->count < sizeof record->pulls / sizeof *record->pulls) record->pulls[record->count++] = microseconds;
  }
  stop(&run);
}

static bool judge_latency(const struct options *options, int rounds, int programs) {
  static struct record records[PROGRAM_COUNT];
  int socket_of_cable = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (int program = 0; program < programs; program++) records[program].round_medians = allocate(rounds, sizeof(double));
  for (int round = 0; round < rounds; round++) {
    progress("library: round %d of %d", round + 1, rounds);
    for (int number = 0; number < STARTS; number++)
      for (int i = 0; i < programs; i++) {
        enum program program = (round + number + i) % programs;
        measure_pulls(options, program, socket_of_cable, &records[program], number);
      }
    for (int program = 0; program < programs; program++)
      records[program].round_medians[round] = median(records[program].round_pulls, PULLS);
  }
  printf("| %-17s | p50 us | p95 us | ratio to netwatch -f |\n|-------------------|-------:|-------:|---------------------:|\n", "program");
  double ratios[PROGRAM_COUNT];
  for (int program = 0; program < programs; program++) {
    struct record *record = &records[program];
    ratios[program] = median_ratio(record->round_medians, records[COMMAND].round_medians, rounds);
    printf("| %-17s | %6.0f | %6.0f | %20.3f |\n", names[program], median(record->pulls, record->count),
           percentile(record->pulls, record->count, 0.95), ratios[program]);
  }
  printf("%zu pulls of the cable for each program, in %d rounds\n\n", records[LIBRARY].count, rounds);
  double self = ratios[COMMAND_AGAIN] - 1;
  bool met = verdict(self >= -self_ratio_tolerance && self <= self_ratio_tolerance, "the command's ratio to itself is %.3f; otherwise repeat this",
                     ratios[COMMAND_AGAIN]);
  return met & verdict(ratios[LIBRARY] <= ratio_target, "ratio of C's callback to the command's line %.3f, at most %.2f", ratios[LIBRARY], ratio_target);
}

static bool judge_costs(const struct options *options) {
  double loading[OPENINGS], opening[OPENINGS];
  char buffer[4096];
  struct run run = {0};
  for (int i = 0; i < OPENINGS; i++) {
    if (i > 0) stop(&run);
    run = start(options, LIBRARY);
    if (read_some(&run, buffer, sizeof buffer, PATIENCE_MS) == 0 || sscanf(buffer, "%lf %lf", &loading[i], &opening[i]) != 2)
      errx(2, "the program with the library says nothing");
  }
  sleep_ms(1000);
  uint64_t wakeups = process_wakeups(run.pid);
  sleep_ms(IDLE_SECONDS * 1000);
  wakeups = process_wakeups(run.pid) - wakeups;
  struct memory memory = process_memory(run.pid);
  int threads = process_threads(run.pid);
  stop(&run);
  double open_ms = median(opening, OPENINGS) / 1e3;
  printf("load: p50 %.2f ms, p95 %.2f ms; open: p50 %.2f ms, p95 %.2f ms; RSS %ld KiB\n\n", median(loading, OPENINGS) / 1e3,
         percentile(loading, OPENINGS, 0.95) / 1e3, open_ms, percentile(opening, OPENINGS, 0.95) / 1e3, memory.resident_kib);
  bool met = verdict(open_ms <= open_target_ms, "open to the first state %.2f ms (median of %d), at most %.0f", open_ms, OPENINGS, open_target_ms);
  met &= verdict(memory.private_dirty_kib <= PRIVATE_DIRTY_TARGET_KIB, "%ld KiB private dirty in a C program, at most %d",
                 memory.private_dirty_kib, PRIVATE_DIRTY_TARGET_KIB);
  met &= verdict(threads == 1, "%d threads, one allowed", threads);
  return met & verdict(wakeups == 0, "%d wake-ups in %d s, none allowed", (int)wakeups, IDLE_SECONDS);
}

/* library NETWATCH FOLDER LIBRARY ROUNDS [PYTHON-PACKAGE] */
int main(int count, char **given) {
  if (count < 5) errx(2, "usage: library NETWATCH FOLDER LIBRARY ROUNDS [PYTHON-PACKAGE]");
  struct options options = {.netwatch = given[1], .programs = given[2]};
  char *peer;
  if (asprintf(&peer, "%s/library-peer", given[2]) < 0) err(2, "asprintf");
  int rounds = atoi(given[4]) > 0 ? atoi(given[4]) : DEFAULT_ROUNDS;
  char *command[] = {given[1], "-f", "--json", "--no-service", NULL};
  memcpy(arguments[COMMAND], command, sizeof command);
  memcpy(arguments[COMMAND_AGAIN], command, sizeof command);
  char *library[] = {peer, given[3], NULL};
  memcpy(arguments[LIBRARY], library, sizeof library);
  char *python[] = {"python3", "-m", "libnetwatch", "no-service", NULL};
  memcpy(arguments[PYTHON], python, sizeof python);
  set_up_network();
  int socket = open_route_socket();
  const struct route_request addition = default_route_request(ADD_ROUTE);
  send_route_request(socket, &addition);
  expect_no_refusal(socket);
  bool met = judge_costs(&options);
  return judge_latency(&options, rounds, count > 5 ? PROGRAM_COUNT : PYTHON) && met ? 0 : 1;
}
