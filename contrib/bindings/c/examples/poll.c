/* Prints the state, then a line for each change, until the reader of its standard output is gone: poll [NAME=VALUE]... */
#include <errno.h>
#include <netwatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

static void print(netwatch *monitor, void *context) {
  int *reader_is_gone = context;
  if (printf("%s\n", netwatch_line(monitor)) < 0 || fflush(stdout) != 0) *reader_is_gone = 1;
}

int main(int argc, char **argv) {
  netwatch *monitor;
  int status = argc == 0 ? -EINVAL : netwatch_open((const char *const *)argv + 1, &monitor);
  if (status < 0) {
    fprintf(stderr, "poll: %s\n", netwatch_error_text());
    return status == -EINVAL ? 64 : 2;
  }
  /* A write to a reader that is gone then fails with EPIPE. */
  signal(SIGPIPE, SIG_IGN);

  int reader_is_gone = 0;
  netwatch_on_change(monitor, print, &reader_is_gone);
  print(monitor, &reader_is_gone);
  /* No event is asked of standard output: POLLERR and POLLHUP are always reported. */
  struct pollfd watched[] = {{netwatch_fd(monitor), POLLIN, 0}, {1, 0, 0}};
  while (!reader_is_gone && status >= 0) {
    if (poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents) break;
    status = netwatch_dispatch(monitor);
  }
  if (status < 0) fprintf(stderr, "poll: %s\n", netwatch_error_text());
  netwatch_close(monitor);
  return status < 0 ? 2 : 0;
}
