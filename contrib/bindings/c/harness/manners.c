/* Loads libnetwatch, uses it, and looks whether it has changed anything of the process that is not its own: manners LIBRARY, a path.
 * It prints a line for each rule of netwatch.h about that. The exit status is 1 if a rule is broken. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <netwatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed;

static void expect(const char *what, int is_so) {
  fprintf(stderr, is_so ? "  ok      %s\n" : "  FAILED  %s\n", what);
  if (!is_so) failed = 1;
}

/* All that a library could change behind a program's back. */
struct state {
  struct sigaction actions[NSIG];
  sigset_t mask;
  struct rlimit limits[RLIM_NLIMITS];
  char locale[256], folder[4096];
  mode_t umask;
};

static struct state look(void) {
  struct state state;
  memset(&state, 0, sizeof state);
  for (int number = 1; number < NSIG; number++) sigaction(number, NULL, &state.actions[number]);
  sigprocmask(SIG_BLOCK, NULL, &state.mask);
  for (int number = 0; number < RLIM_NLIMITS; number++) getrlimit(number, &state.limits[number]);
  snprintf(state.locale, sizeof state.locale, "%s", setlocale(LC_ALL, NULL));
  if (!getcwd(state.folder, sizeof state.folder)) abort();
  umask(state.umask = umask(0));
  return state;
}

/* Their bytes differ where the kernel knows no signal. */
static int are_alike(const sigset_t *one, const sigset_t *other) {
  int number = 1;
  while (number < NSIG && sigismember(one, number) == sigismember(other, number)) number++;
  return number == NSIG;
}

static int entries(const char *folder) {
  DIR *open = opendir(folder);
  int count = 0;
  while (open && readdir(open)) count++;
  closedir(open);
  return count;
}

/* Descriptors that a program would hand on to those that it starts. */
static int inheritable(void) {
  int count = 0;
  for (int descriptor = 3; descriptor < 1024; descriptor++) {
    int flags = fcntl(descriptor, F_GETFD);
    count += flags >= 0 && !(flags & FD_CLOEXEC);
  }
  return count;
}

static int use(const char *path) {
  static const char *const options[] = {"interfaces", "activity=tcp,udp", "target=printer", "stages", "nudge", "quality", "traffic",
                                        "signal", NULL};
  void *library = dlopen(path, RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 0;
  __typeof__(netwatch_open) *open;
  *(void **)&open = dlsym(library, "netwatch_open");
  __typeof__(netwatch_close) *close;
  *(void **)&close = dlsym(library, "netwatch_close");
  __typeof__(netwatch_dispatch) *dispatch;
  *(void **)&dispatch = dlsym(library, "netwatch_dispatch");
  __typeof__(netwatch_fd) *descriptor;
  *(void **)&descriptor = dlsym(library, "netwatch_fd");
  __typeof__(netwatch_begin) *begin;
  *(void **)&begin = dlsym(library, "netwatch_begin");
  int works = 1, threads = entries("/proc/self/task"), handed_on = inheritable();
  for (int round = 0; round < 2; round++) {
    netwatch *monitor;
    if (open(round ? options : NULL, &monitor) != 0) return 0;
    struct pollfd watched = {descriptor(monitor), POLLIN, 0};
    begin(monitor, "request");
    works &= dispatch(monitor) >= 0;
    /* A name is looked up, connections are looked at, and the request is shown. */
    for (int turn = 0; turn < 8 && poll(&watched, 1, 1500) == 1; turn++) works &= dispatch(monitor) >= 0;
    works &= entries("/proc/self/task") == threads && inheritable() == handed_on;
    close(monitor);
  }
  works &= dlclose(library) == 0;
  return works;
}

int main(int argc, char **argv) {
  if (argc != 2) return 64;
  struct state before = look();
  int descriptors = entries("/proc/self/fd");
  expect("library: works, starts no thread, and has no descriptor that others would inherit", use(argv[1]));
  expect("library: works again after dlclose and dlopen", use(argv[1]));
  struct state after = look();
  expect("library: leaves no descriptor", entries("/proc/self/fd") == descriptors);
  expect("library: starts no process", waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
  int signals_are_alike = are_alike(&before.mask, &after.mask);
  for (int number = 1; number < NSIG; number++) {
    struct sigaction *old = &before.actions[number], *new = &after.actions[number];
    signals_are_alike &= old->sa_handler == new->sa_handler && old->sa_flags == new->sa_flags && are_alike(&old->sa_mask, &new->sa_mask);
  }
  expect("library: leaves signals alone", signals_are_alike);
  expect("library: leaves limits alone", memcmp(&before.limits, &after.limits, sizeof before.limits) == 0);
  expect("library: leaves locale, folder and umask alone",
         strcmp(before.locale, after.locale) == 0 && strcmp(before.folder, after.folder) == 0 && before.umask == after.umask);
  return failed;
}
