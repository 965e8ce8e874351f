/* Probes the internet by libnetwatch and netwatch-http, and prints a line for each rule of netwatch.h about that: probe URL, whose
 * server answers after some time. netwatch-http has to be in PATH. The exit status is 1 if a rule is broken. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <netwatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed;
static const char *options[3];

static void expect(const char *what, int is_so) {
  fprintf(stderr, is_so ? "  ok      %s\n" : "  FAILED  %s\n", what);
  if (!is_so) failed = 1;
}

static int descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;
  while (folder && readdir(folder)) count++;
  closedir(folder);
  return count;
}

static int has_child(void) {
  siginfo_t information;
  return waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

static netwatch *opened(void) {
  netwatch *monitor;
  int result = netwatch_open(options, &monitor);
  if (result != 0) fprintf(stderr, "          %s\n", netwatch_error_text());
  return monitor;
}

static void turn(netwatch *monitor) {
  struct pollfd watched = {netwatch_fd(monitor), POLLIN, 0};
  poll(&watched, 1, 20);
  netwatch_dispatch(monitor);
}

/* Whether the internet answers within 30 seconds. */
static int answers(netwatch *monitor) {
  for (int count = 0; count < 1500; count++) {
    const char *internet = netwatch_get(monitor, "internet");
    if (internet && strcmp(internet, "full") == 0) return 1;
    turn(monitor);
  }
  return 0;
}

/* Whether a probe begins within 30 seconds. */
static int begins(netwatch *monitor) {
  for (int count = 0; count < 1500 && !has_child(); count++) turn(monitor);
  return has_child();
}

int main(int argc, char **argv) {
  if (argc != 2) return 64;
  char probe[1024];
  snprintf(probe, sizeof probe, "probe=%s", argv[1]);
  options[0] = probe;
  options[1] = "no-service";

  netwatch *monitor;
  char *path = strdup(getenv("PATH"));
  setenv("PATH", "/nowhere", 1);
  int result = netwatch_open(options, &monitor);
  expect("probe: without netwatch-http, -ENOENT and a sentence",
         result == -ENOENT && !monitor && strstr(netwatch_error_text(), "netwatch-http"));
  setenv("PATH", path, 1);
  free(path);

  int before = descriptors();
  if (!(monitor = opened())) return 1;
  expect("probe: nothing is known at first", strcmp(netwatch_get(monitor, "internet"), "unknown") == 0);
  expect("probe: is a child of this process", begins(monitor));
  /* A child that closes its copy must not end the probe of the parent. */
  if (fork() == 0) {
    netwatch_close(monitor);
    _exit(0);
  }
  expect("probe: the internet answers, after a fork too", answers(monitor));
  expect("probe: its condition holds", netwatch_holds(monitor, "internet") == 1 && netwatch_holds(monitor, "stage=dns") == -EINVAL);
  netwatch_close(monitor);
  while (wait(NULL) > 0) {
  }

  if (!(monitor = opened())) return 1;
  int has_begun = begins(monitor);
  netwatch_close(monitor);
  expect("close: ends a probe that runs, and waits for it", has_begun && !has_child());
  expect("close: leaves no descriptor", descriptors() == before);

  /* The kernel waits for the children of this process, so nobody gets their status. */
  signal(SIGCHLD, SIG_IGN);
  if (!(monitor = opened())) return 1;
  expect("probe: answers where SIGCHLD is ignored", answers(monitor));
  /* The loop takes a turn for messages of the kernel now and then, but not for the helper that has ended. */
  struct pollfd watched = {netwatch_fd(monitor), POLLIN, 0};
  int turns = 0;
  for (int wait = 0; wait < 50; wait++) turns += poll(&watched, 1, 10) == 1 && netwatch_dispatch(monitor) >= 0;
  fprintf(stderr, "          %d turns in half a second\n", turns);
  expect("probe: has nothing to do afterwards", turns < 10);
  netwatch_close(monitor);
  return failed;
}
