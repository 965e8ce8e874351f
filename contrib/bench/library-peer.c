/* A program in C with libnetwatch: writes a line for each change, and first two times in microseconds: what it took to load the
 * library, and to open a monitor whose state is known then. The library is the first argument. */
#include <dlfcn.h>
#include <netwatch.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static __typeof__(netwatch_line) *line;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static void changed(netwatch *monitor, void *context) {
  const char *text = line(monitor);
  (void)context;
  if (write(STDOUT_FILENO, text, strlen(text)) < 0 || write(STDOUT_FILENO, "\n", 1) < 0) _exit(1);
}

int main(int count, char **arguments) {
  const char *options[] = {"no-service", NULL};
  if (count != 2) return 64;
  double start = now();
  void *library = dlopen(arguments[1], RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 2;
  double loaded = now();
  __typeof__(netwatch_open) *open = dlsym(library, "netwatch_open");
  __typeof__(netwatch_on_change) *on_change = dlsym(library, "netwatch_on_change");
  __typeof__(netwatch_dispatch) *dispatch = dlsym(library, "netwatch_dispatch");
  __typeof__(netwatch_fd) *descriptor = dlsym(library, "netwatch_fd");
  line = dlsym(library, "netwatch_line");
  netwatch *monitor;
  double before = now();
  if (open(options, &monitor) != 0 || !line(monitor)) return 2;
  double known = now();
  dprintf(STDOUT_FILENO, "%.0f %.0f\n", loaded - start, known - before);
  on_change(monitor, changed, NULL);
  struct pollfd watched = {descriptor(monitor), POLLIN, 0};
  while (poll(&watched, 1, -1) == 1 && dispatch(monitor) >= 0) {
  }
  return 2;
}
