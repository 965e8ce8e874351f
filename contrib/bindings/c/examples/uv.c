/* Watches the network in a libuv loop, and prints a line of JSON for each change. */
#define _XOPEN_SOURCE 700 /* uv.h needs it if the compiler runs with -std=c11. */
#include <netwatch.h>
#include <stdio.h>
#include <uv.h>

static void print(netwatch *monitor, void *context) {
  (void)context;
  printf("%s\n", netwatch_line(monitor));
  fflush(stdout);
}

static void readable(uv_poll_t *poll, int status, int events) {
  (void)events;
  if (status == 0 && netwatch_dispatch(poll->data) >= 0) return;
  fprintf(stderr, "uv: %s\n", status == 0 ? netwatch_error_text() : uv_strerror(status));
  uv_poll_stop(poll);
}

int main(void) {
  netwatch *monitor;
  if (netwatch_open(NULL, &monitor) < 0) {
    fprintf(stderr, "uv: %s\n", netwatch_error_text());
    return 2;
  }
  netwatch_on_change(monitor, print, NULL);
  print(monitor, NULL);
  uv_poll_t poll = {.data = monitor};
  uv_poll_init(uv_default_loop(), &poll, netwatch_fd(monitor));
  uv_poll_start(&poll, UV_READABLE, readable);
  uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  /* Nothing is watched any more. Before a program closes a monitor, it stops the uv_poll_t that watches its descriptor. */
  netwatch_close(monitor);
}
