/* Holds libnetwatch to the rules of netwatch.h, and prints a line for each: rules PULL PLUG-IN, two shell commands that pull
 * the cable enp1s0 and put it back. The exit status is 1 if a rule is broken. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <netwatch.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed;

static void expect(const char *what, int is_so) {
  fprintf(stderr, is_so ? "  ok      %s\n" : "  FAILED  %s\n", what);
  if (!is_so) failed = 1;
}

static int said(const char *part) {
  const char *text = netwatch_error_text();
  return text && strstr(text, part);
}

/* MARK: Changes */

struct seen {
  int changes;
  int dispatch_within;
  char last_reason[64];
};

static void note(netwatch *monitor, void *context) {
  struct seen *seen = context;
  seen->changes++;
  snprintf(seen->last_reason, sizeof seen->last_reason, "%s", netwatch_get(monitor, "reason"));
  seen->dispatch_within = netwatch_dispatch(monitor);
}

static void close_it(netwatch *monitor, void *context) {
  ++*(int *)context;
  netwatch_close(monitor);
}

/* Waits until a change has this reason; 0 if none has within 30 seconds. */
static int comes(netwatch *monitor, struct seen *seen, const char *reason) {
  struct pollfd watched = {netwatch_fd(monitor), POLLIN, 0};
  seen->last_reason[0] = 0;
  while (strcmp(seen->last_reason, reason) != 0) {
    int before = seen->changes;
    if (poll(&watched, 1, 30000) < 1) return 0;
    if (netwatch_dispatch(monitor) != seen->changes - before) return 0;
  }
  return 1;
}

/* MARK: NULL and options */

static void check_nothing(void) {
  netwatch *monitor = (netwatch *)&failed;
  int out_is_missing = netwatch_open(NULL, NULL);
  expect("open: without a place for the monitor, -EINVAL", out_is_missing == -EINVAL && netwatch_error_text());
  netwatch_close(NULL);
  netwatch_on_change(NULL, note, NULL);
  netwatch_end(NULL, 1);
  expect("NULL: fd and dispatch return -EINVAL", netwatch_fd(NULL) == -EINVAL && netwatch_dispatch(NULL) == -EINVAL);
  expect("NULL: there is a sentence about it", netwatch_error_text() != NULL);
  expect("NULL: no status, field, line or request",
         netwatch_get_status(NULL) == NETWATCH_UNKNOWN && !netwatch_get(NULL, "medium") && !netwatch_line(NULL) &&
             netwatch_begin(NULL, "nothing") == 0);
  expect("NULL: holds returns -EINVAL", netwatch_holds(NULL, "reachable") == -EINVAL && netwatch_error_text());
  const char *wrong[][2] = {{"colour=red", NULL}, {"hold=nan", NULL}, {"hold=-1", NULL}, {"", NULL}, {"=", NULL},
                            {"nudge", NULL}, {"traffic-interval=1", NULL}, {"probe=nowhere", NULL}, {"probe-timeout=1", NULL}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char what[64];
    snprintf(what, sizeof what, "open: '%s' is refused, with a sentence", wrong[i][0]);
    monitor = (netwatch *)&failed;
    expect(what, netwatch_open(wrong[i], &monitor) == -EINVAL && monitor == NULL && netwatch_error_text());
  }
  const char *unknown[] = {"interface=enp*", "colour=red", NULL};
  expect("open: the sentence names the option", netwatch_open(unknown, &monitor) == -EINVAL && said("colour"));
  expect("version: is a text", netwatch_version() && strchr(netwatch_version(), '.'));
}

/* MARK: Fork */

static int in_child(netwatch *monitor) {
  int broken = netwatch_fd(monitor) != -1;
  broken |= (netwatch_dispatch(monitor) != -ECHILD) << 1;
  broken |= (netwatch_get_status(monitor) != NETWATCH_UNKNOWN) << 2;
  broken |= (netwatch_get(monitor, "medium") || netwatch_line(monitor)) << 3;
  broken |= (netwatch_begin(monitor, "child") != 0) << 4;
  broken |= (netwatch_holds(monitor, "reachable") != -ECHILD) << 6;
  netwatch_end(monitor, 1);
  netwatch_close(monitor);
  netwatch *own;
  broken |= (netwatch_open(NULL, &own) != 0 || netwatch_get_status(own) != NETWATCH_WIFI) << 5;
  if (!(broken & 1 << 5)) netwatch_close(own);
  return broken;
}

static void check_fork(netwatch *monitor) {
  pid_t child = fork();
  if (child == 0) _exit(in_child(monitor));
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0) fprintf(stderr, "the child's status is %#x\n", (unsigned)status);
  expect("fork: the child's copy is dead, its own monitor is not", status == 0);
}

/* MARK: Conditions and figures */

static void check_conditions(netwatch *monitor) {
  expect("holds: 1 or 0", netwatch_holds(monitor, "reachable") == 1 && netwatch_holds(monitor, "not-reachable") == 0);
  char medium[64];
  snprintf(medium, sizeof medium, "medium=%s", netwatch_get(monitor, "medium"));
  expect("holds: a medium", netwatch_holds(monitor, medium) == 1 && netwatch_holds(monitor, "medium=wwan") == 0);
  expect("holds: no such condition, -EINVAL", netwatch_holds(monitor, "colour") == -EINVAL && said("colour"));
  expect("holds: NULL, -EINVAL", netwatch_holds(monitor, NULL) == -EINVAL && netwatch_error_text());
  expect("holds: what needs an option, -EINVAL",
         netwatch_holds(monitor, "internet") == -EINVAL && said("probe") && netwatch_holds(monitor, "stage=link") == -EINVAL &&
             said("stages") && netwatch_holds(monitor, "network=0123456789abcdef") == -EINVAL && said("network-id"));
  const char *description = netwatch_get(monitor, "description");
  expect("get: the path in words", description && strstr(description, "enp1s0, 192.168.1.23"));
  expect("get: figures without their options have no value, and are no error",
         !netwatch_get(monitor, "internet") && !netwatch_get(monitor, "stage") && !netwatch_get(monitor, "network_id") &&
             !netwatch_get(monitor, "rx_bps") && !netwatch_get(monitor, "rtt_ms") && !netwatch_error_text());
}

/* The state has figures if options ask for them. */
static void check_figures(void) {
  static const char *const options[] = {"traffic", "traffic-interval=0.1", "stages", "nudge", "quality", "network-id", NULL};
  netwatch *monitor;
  int result = netwatch_open(options, &monitor);
  expect("open: takes traffic, stages, quality and network-id", result == 0);
  if (result != 0) return;
  struct pollfd watched = {netwatch_fd(monitor), POLLIN, 0};
  for (int turn = 0; turn < 300 && !netwatch_get(monitor, "rx_bps"); turn++) {
    poll(&watched, 1, 100);
    if (netwatch_dispatch(monitor) < 0) break;
  }
  expect("traffic: the rates are there", netwatch_get(monitor, "rx_bps") && netwatch_get(monitor, "tx_bps"));
  expect("stages: the link works", netwatch_holds(monitor, "stage=link") == 1 && netwatch_holds(monitor, "stage=internet") == -EINVAL);
  /* The router answers the nudge, so the kernel knows its hardware address soon. */
  for (int turn = 0; turn < 300 && !netwatch_get(monitor, "network_id"); turn++) {
    poll(&watched, 1, 100);
    if (netwatch_dispatch(monitor) < 0) break;
  }
  const char *network = netwatch_get(monitor, "network_id");
  char condition[64];
  snprintf(condition, sizeof condition, "network=%s", network ? network : "0123456789abcdef");
  expect("network-id: becomes known, and its condition holds", network && netwatch_holds(monitor, condition) == 1);
  expect("network-id: is in the line", network && strstr(netwatch_line(monitor), network));
  netwatch_close(monitor);
}

/* MARK: Requests */

static void *run_requests(void *monitor) {
  for (int i = 0; i < 1000; i++) netwatch_end(monitor, netwatch_begin(monitor, i % 2 ? "request" : NULL));
  return NULL;
}

static void check_requests(netwatch *monitor, struct seen *seen) {
  uint64_t request = netwatch_begin(monitor, "upload");
  expect("begin: gives a number", request != 0);
  expect("begin: is seen at the next dispatch", comes(monitor, seen, "request_began") &&
                                                    strcmp(netwatch_get(monitor, "in_flight"), "1") == 0 &&
                                                    strcmp(netwatch_get(monitor, "visible"), "0") == 0);
  expect("begin: is visible after its delay",
         comes(monitor, seen, "activation_delay") && strcmp(netwatch_get(monitor, "visible"), "1") == 0);
  netwatch_end(monitor, request);
  netwatch_end(monitor, request);
  netwatch_end(monitor, 0);
  expect("end: is hidden after its delay",
         comes(monitor, seen, "completion_delay") && strcmp(netwatch_get(monitor, "in_flight"), "0") == 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run_requests, monitor);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  /* What they have left to read. */
  struct pollfd watched = {netwatch_fd(monitor), POLLIN, 0};
  while (poll(&watched, 1, 2000) == 1 && netwatch_dispatch(monitor) >= 0) {
  }
  expect("begin, end: from two threads, none is left", strcmp(netwatch_get(monitor, "in_flight"), "0") == 0);
}

/* MARK: All of it */

int main(int argc, char **argv) {
  if (argc != 3) return 64;
  check_nothing();
  netwatch *monitor;
  if (netwatch_open(NULL, &monitor) != 0) {
    expect(netwatch_error_text(), 0);
    return 1;
  }
  struct seen seen = {0};
  netwatch_on_change(monitor, note, &seen);
  expect("open: the state is known", netwatch_get_status(monitor) == NETWATCH_WIFI);
  const char *interface = netwatch_get(monitor, "interface");
  expect("get: the interface", interface && strcmp(interface, "enp1s0") == 0);
  expect("get: no field, no error", !netwatch_get(monitor, "ssid") && !netwatch_error_text());
  expect("get: no such field, an error", !netwatch_get(monitor, "colour") && said("colour"));
  expect("get: NULL, an error", !netwatch_get(monitor, NULL) && netwatch_error_text());
  const char *line = netwatch_line(monitor);
  expect("line: has no line feed", line && !strchr(line, '\n') && strstr(line, "\"event\":\"initial\""));
  expect("fd: is close-on-exec", fcntl(netwatch_fd(monitor), F_GETFD) & FD_CLOEXEC);
  errno = 4711;
  netwatch_dispatch(monitor);
  netwatch_get(monitor, "colour");
  expect("errno: stays", errno == 4711);
  check_conditions(monitor);
  check_figures();
  check_fork(monitor);
  if (system(argv[1]) != 0) return 1;
  expect("dispatch: a pulled cable is told, after a fork too", comes(monitor, &seen, "no_carrier"));
  expect("dispatch: the status is then 0", netwatch_get_status(monitor) == NETWATCH_NOT_REACHABLE);
  expect("holds: is about the present state", netwatch_holds(monitor, "not-reachable") == 1 && netwatch_holds(monitor, "wired") == 0);
  expect("get: a loss in words", strcmp(netwatch_get(monitor, "description"), "not reachable: no carrier") == 0);
  expect("dispatch: within a callback, -EDEADLK", seen.dispatch_within == -EDEADLK);
  if (system(argv[2]) != 0) return 1;
  expect("dispatch: the cable is back", comes(monitor, &seen, "route_up"));
  check_requests(monitor, &seen);

  int changes = seen.changes, calls = 0;
  netwatch_on_change(monitor, NULL, NULL);
  netwatch_begin(monitor, NULL);
  expect("on_change: NULL, and no callback is called", netwatch_dispatch(monitor) >= 1 && seen.changes == changes);
  netwatch_on_change(monitor, close_it, &calls);
  netwatch_begin(monitor, NULL);
  netwatch_begin(monitor, NULL);
  netwatch_dispatch(monitor);
  expect("close: within a callback, which is not called again", calls == 1);
  return failed;
}
