/* What a look at the TCP connections costs, beside `ss`, and what watching costs while nothing happens. */
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "process.h"
#include "routes.h"
#include "service.h"

enum {
  DEFAULT_ROUNDS = 5,
  LOOKING_MS = 2000, /* of each size in a round, with a look every 20 ms */
  SETTLE_MS = 1000,
  LOOKS_CAPACITY = 20000,
  IDLE_SECONDS = 60,
  ALONE_SECONDS = 10,
  REQUEST_MS = 5000,
  CLOSINGS = 40,
  SHOWN_LIMIT_MS = 3000,
  GROWTH_TARGET_KIB = 64,
};

static const int sizes[] = {0, 1000, 10000};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };
static const double look_targets_ms[SIZE_COUNT] = {1, 2, 15};

struct record {
  double *looks_us;
  double *parts_us; /* the longest of each look */
  size_t look_count;
  double *cpu_us; /* a look, of each round */
  double *ss_ms;  /* CPU of `ss -tin`, of each round */
  long growth_kib;
};

/* Both ends are ours, and the ways between them are not loopback ones by their addresses; half are IPv6. One in ten has
 * asked and waits. */
static void connect_pairs(int count, int *sockets) {
  for (int i = 0; i < count; i++) {
    bool is_new = i % 2 == 0;
    struct sockaddr_in near4 = {.sin_family = AF_INET}, far4 = near4;
    struct sockaddr_in6 near6 = {.sin6_family = AF_INET6}, far6 = near6;
    struct sockaddr *near = is_new ? (struct sockaddr *)&near6 : (struct sockaddr *)&near4;
    struct sockaddr *far = is_new ? (struct sockaddr *)&far6 : (struct sockaddr *)&far4;
    socklen_t length = is_new ? sizeof near6 : sizeof near4;
    inet_pton(AF_INET, "10.0.0.1", &near4.sin_addr);
    inet_pton(AF_INET, "10.0.0.3", &far4.sin_addr);
    inet_pton(AF_INET6, "fd00::1", &near6.sin6_addr);
    inet_pton(AF_INET6, "fd00::3", &far6.sin6_addr);
    static int listeners[2];
    int *listener = &listeners[is_new];
    if (i < 2) {
      *listener = socket(far->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (bind(*listener, far, length) < 0 || listen(*listener, 16) < 0) err(2, "listen");
    }
    getsockname(*listener, far, &length);
    int client = socket(near->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(client, near, length) < 0 || connect(client, far, length) < 0) err(2, "connect");
    int server = accept4(*listener, NULL, NULL, SOCK_CLOEXEC);
    if (server < 0) err(2, "accept");
    if (i % 10 == 0 && send(client, "?", 1, MSG_NOSIGNAL) != 1) err(2, "send");
    sockets[2 * i] = client;
    sockets[2 * i + 1] = server;
    if (i + 2 >= count) close(*listener);
  }
}

static double ss_cpu_ms(const struct options *options) {
  char *arguments[] = {"ss", "-tin", NULL};
  int output = open("/dev/null", O_WRONLY | O_CLOEXEC), messages = open_log(options, "ss");
  pid_t pid = process_start("ss", arguments, output, messages);
  struct rusage usage;
  int status;
  if (wait4(pid, &status, 0, &usage) != pid || status != 0) errx(2, "ss failed");
  close(output);
  close(messages);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
         (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

/* Of what it has written to its log; returns how many looks there were. */
static size_t read_looks(const struct options *options, const char *name, int expected,
                         struct record *record) {
  char path[4096], line[256];
  size_t count = 0;
  snprintf(path, sizeof path, "%s/%s.log", options->programs, name);
  FILE *file = fopen(path, "re");
  if (file == NULL) err(2, "%s", path);
  while (fgets(line, sizeof line, file)) {
    int connections, in_flight, parts;
    double whole, longest;
    if (sscanf(line, "netwatch: look: %d connections, %d in flight, %lf us in %d parts, the longest %lf",
               &connections, &in_flight, &whole, &parts, &longest) != 5)
      continue;
    /* The first ones fill the memory and the caches. */
    if (count++ < 3 || record->look_count >= LOOKS_CAPACITY) continue;
    if (connections != expected) errx(2, "%d connections instead of %d", connections, expected);
    record->looks_us[record->look_count] = whole;
    record->parts_us[record->look_count++] = longest;
  }
  fclose(file);
  if (count < 10) errx(2, "too few looks");
  return count;
}

static pid_t start_follow(const struct options *options, const char *name, char *interval) {
  char *arguments[] = {(char *)options->netwatch, "--follow", "--json", "--no-service", "--activity", "tcp",
                       "--activity-interval", interval, NULL};
  int output = open("/dev/null", O_WRONLY | O_CLOEXEC), messages = open_log(options, name);
  pid_t pid = process_start(options->netwatch, arguments, output, messages);
  close(output);
  close(messages);
  return pid;
}

static void measure_size(const struct options *options, int size, struct record *record, int round) {
  int *sockets = allocate(size + 1, sizeof *sockets);
  connect_pairs(size / 2, sockets);
  setenv("NETWATCH_DEBUG", "looks", 1);
  pid_t pid = start_follow(options, "looks", "0.02");
  sleep_ms(SETTLE_MS);
  struct memory before = process_memory(pid);
  uint64_t cpu = process_cpu_ns(pid);
  sleep_ms(LOOKING_MS);
  cpu = process_cpu_ns(pid) - cpu;
  long growth = process_memory(pid).private_dirty_kib - before.private_dirty_kib;
  if (growth > record->growth_kib) record->growth_kib = growth;
  process_stop(pid);
  unsetenv("NETWATCH_DEBUG");
  size_t looks = read_looks(options, "looks", size, record);
  record->cpu_us[round] = cpu / 1e3 / (looks * LOOKING_MS / (double)(LOOKING_MS + SETTLE_MS));
  record->ss_ms[round] = ss_cpu_ms(options);
  for (int i = 0; i < size; i++) close(sockets[i]);
  free(sockets);
  sleep_ms(SETTLE_MS / 10);
}

struct idle {
  double cpu_s_per_hour;
  double wakeups_per_s;
  int wakeups_alone;
};

/* As users run it: a watcher of its own, and a service that nobody watches. */
static void measure_idle(const struct options *options, struct idle *idle) {
  progress("sockets: %d s idle", IDLE_SECONDS);
  pid_t pid = start_follow(options, "idle", "0.5");
  sleep_ms(SETTLE_MS);
  uint64_t cpu = process_cpu_ns(pid), wakeups = process_wakeups(pid);
  sleep_ms(IDLE_SECONDS * 1000);
  idle->cpu_s_per_hour = (process_cpu_ns(pid) - cpu) / 1e9 * 3600 / IDLE_SECONDS;
  idle->wakeups_per_s = (process_wakeups(pid) - wakeups) / (double)IDLE_SECONDS;
  process_stop(pid);

  struct service service;
  service_start_with(&service, options, "--activity", "all");
  static struct client client;
  client_connect(&client, &service);
  if (!client_await(&client, "\"in_flight_by\"", SETTLE_MS)) errx(2, "the service does not count TCP");
  client_close(&client);
  sleep_ms(SETTLE_MS);
  wakeups = process_wakeups(service.pid);
  sleep_ms(ALONE_SECONDS * 1000);
  idle->wakeups_alone = process_wakeups(service.pid) - wakeups;
  service_stop(&service);
}

struct shown {
  double *visible_ms; /* from the begin of a request */
  double *hidden_ms;  /* from its end */
  double closed_ms[CLOSINGS]; /* from the end of a connection to the end of the indicator */
};

/* Connects, asks, and waits until it is shown; returns the end that asks, and the other one in *answering. */
static int ask(struct client *client, int listener, struct sockaddr_in far, int *answering, double *visible_ms) {
  struct sockaddr_in near = {.sin_family = AF_INET};
  inet_pton(AF_INET, "10.0.0.1", &near.sin_addr);
  int asking = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(asking, (struct sockaddr *)&near, sizeof near) < 0) err(2, "bind");
  uint64_t begin = now_ns();
  if (connect(asking, (struct sockaddr *)&far, sizeof far) < 0) err(2, "connect");
  *answering = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  char bytes[100] = "?";
  if (*answering < 0 || send(asking, bytes, sizeof bytes, MSG_NOSIGNAL) != sizeof bytes) err(2, "ask");
  if (!client_await(client, "\"visible\":true", SHOWN_LIMIT_MS)) errx(2, "a request is not shown");
  *visible_ms = (client->read_ns - begin) / 1e6;
  return asking;
}

/* One request after another over connections of their own, as a subscriber of a service sees them; then some that are closed
 * while they wait for an answer. */
static void measure_indicator(const struct options *options, struct shown *shown, int rounds) {
  struct sockaddr_in far = {.sin_family = AF_INET};
  socklen_t length = sizeof far;
  inet_pton(AF_INET, "10.0.0.3", &far.sin_addr);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, (struct sockaddr *)&far, length) < 0 || listen(listener, 1) < 0) err(2, "listen");
  getsockname(listener, (struct sockaddr *)&far, &length);
  struct service service;
  service_start_with(&service, options, "--activity", "tcp");
  static struct client client;
  client_connect(&client, &service);
  if (!client_await(&client, "\"visible\":false", SHOWN_LIMIT_MS)) errx(2, "the service says nothing");
  for (int round = 0; round < rounds; round++) {
    progress("sockets: request %d of %d", round + 1, rounds);
    sleep_ms(SETTLE_MS + round * 170 % 500);
    uint64_t begin = now_ns();
    int answering, asking = ask(&client, listener, far, &answering, &shown->visible_ms[round]);
    sleep_ms(REQUEST_MS - (now_ns() - begin) / 1000000);
    char bytes[1000] = "";
    uint64_t end = now_ns();
    if (recv(answering, bytes, sizeof bytes, 0) != 100 || send(answering, bytes, sizeof bytes, MSG_NOSIGNAL) < 0)
      err(2, "answer");
    if (!client_await(&client, "\"visible\":false", SHOWN_LIMIT_MS)) errx(2, "a request stays shown");
    shown->hidden_ms[round] = (client.read_ns - end) / 1e6;
    close(asking);
    close(answering);
  }
  for (int i = 0; i < CLOSINGS; i++) {
    progress("sockets: closing %d of %d", i + 1, CLOSINGS);
    double visible_ms;
    int answering, asking = ask(&client, listener, far, &answering, &visible_ms);
    sleep_ms(i * 37 % 400); /* anywhere between two looks */
    uint64_t end = now_ns();
    /* Both ends are on this machine and count: one goes, and the other one after it. */
    close(i % 2 == 0 ? asking : answering);
    close(i % 2 == 0 ? answering : asking);
    if (!client_await(&client, "\"visible\":false", SHOWN_LIMIT_MS)) errx(2, "a closed connection stays shown");
    shown->closed_ms[i] = (client.read_ns - end) / 1e6;
  }
  client_close(&client);
  service_stop(&service);
  close(listener);
}

static bool judge_indicator(struct shown *shown, int rounds) {
  double first = percentile(shown->visible_ms, rounds, 0), last = percentile(shown->visible_ms, rounds, 1);
  double hidden = percentile(shown->hidden_ms, rounds, 1);
  /* The kernel's clock ticks every 4 ms. */
  bool met = verdict(first >= 996 && last <= 1300, "a request of 5 s shows after %.0f to %.0f ms, 996 to 1300 allowed",
                     first, last);
  met &= verdict(hidden <= 700, "and hides %.0f ms after its end (median %.0f), at most 700", hidden,
                 median(shown->hidden_ms, rounds));
  double soonest = percentile(shown->closed_ms, CLOSINGS, 0), late = percentile(shown->closed_ms, CLOSINGS, 0.95);
  return verdict(soonest >= 170 && late <= 220,
                 "a connection that closes hides it after %.1f ms at the soonest, %.1f at the median, %.1f at p95; 170 and 220 "
                 "allowed",
                 soonest, median(shown->closed_ms, CLOSINGS), late) &&
         met;
}

static void print_table(struct record *records, int rounds) {
  printf("| sockets | looks | look p10 us |   p50 us |   p99 us |   max us | longest part p99 us | CPU a look us | ss -tin CPU ms | "
         "growth KiB |\n");
  printf("|--------:|------:|------------:|---------:|---------:|---------:|--------------------:|--------------:|---------------:|"
         "-----------:|\n");
  for (int i = 0; i < SIZE_COUNT; i++) {
    struct record *record = &records[i];
    printf("| %7d | %5zu | %11.0f | %8.0f | %8.0f | %8.0f | %19.0f | %13.0f | %14.1f | %10ld |\n", sizes[i],
           record->look_count, percentile(record->looks_us, record->look_count, 0.1),
           median(record->looks_us, record->look_count),
           percentile(record->looks_us, record->look_count, 0.99),
           percentile(record->looks_us, record->look_count, 1),
           percentile(record->parts_us, record->look_count, 0.99), median(record->cpu_us, rounds),
           median(record->ss_ms, rounds), record->growth_kib);
  }
}

static bool judge(struct record *records, const struct idle *idle) {
  bool met = true;
  for (int i = 0; i < SIZE_COUNT; i++) {
    double time = median(records[i].looks_us, records[i].look_count) / 1e3;
    met &= verdict(time <= look_targets_ms[i], "a look at %d sockets takes %.2f ms at the median, at most %.0f",
                   sizes[i], time, look_targets_ms[i]);
    met &= verdict(records[i].growth_kib <= GROWTH_TARGET_KIB,
                   "looks at %d sockets add %ld KiB private dirty, at most %d", sizes[i], records[i].growth_kib,
                   GROWTH_TARGET_KIB);
  }
  met &= verdict(idle->cpu_s_per_hour <= 20,
                 "one watcher of an idle machine takes %.2f s of CPU an hour (%.1f wake-ups a second), "
                 "at most 20",
                 idle->cpu_s_per_hour, idle->wakeups_per_s);
  met &= verdict(idle->wakeups_alone == 0, "a service that nobody watches wakes up %d times in %d s, not once allowed",
                 idle->wakeups_alone, ALONE_SECONDS);
  return met;
}

bool run_sockets(const struct options *options) {
  int rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
  struct record records[SIZE_COUNT] = {0};
  struct idle idle = {0};
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) err(2, "getrlimit");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0) err(2, "setrlimit");
  if (limit.rlim_cur < (rlim_t)sizes[SIZE_COUNT - 1] + 100) errx(2, "too few descriptors are allowed");
  for (int i = 0; i < SIZE_COUNT; i++) {
    records[i].looks_us = allocate(LOOKS_CAPACITY, sizeof(double));
    records[i].parts_us = allocate(LOOKS_CAPACITY, sizeof(double));
    records[i].cpu_us = allocate(rounds, sizeof(double));
    records[i].ss_ms = allocate(rounds, sizeof(double));
  }
  set_up_network();
  if (system("ip address add 10.0.0.3/24 dev v0 && ip address add fd00::1/64 dev v0 nodad && "
             "ip address add fd00::3/64 dev v0 nodad") != 0)
    errx(2, "cannot add addresses");
  int socket = open_route_socket();
  const struct route_request addition = default_route_request(ADD_ROUTE);
  send_route_request(socket, &addition);
  expect_no_refusal(socket);
  for (int round = 0; round < rounds; round++) {
    progress("sockets: round %d of %d", round + 1, rounds);
    for (int i = 0; i < SIZE_COUNT; i++) measure_size(options, sizes[i], &records[i], round);
  }
  struct shown shown = {.visible_ms = allocate(rounds, sizeof(double)), .hidden_ms = allocate(rounds, sizeof(double))};
  measure_indicator(options, &shown, rounds);
  measure_idle(options, &idle);
  print_table(records, rounds);
  printf("%d rounds; half of the sockets are IPv6, one connection in ten waits for an answer\n\n", rounds);
  bool met = judge_indicator(&shown, rounds);
  return judge(records, &idle) && met;
}
