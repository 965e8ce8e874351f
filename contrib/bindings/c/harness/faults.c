/* Refuses libnetwatch what it asks of the kernel, one call after the other, and prints a line for each rule of netwatch.h that has
 * to hold then. To be run where links may be made: in a network namespace of its own. The exit status is 1 if a rule is broken. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netwatch.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed;

static void expect(const char *what, int is_so) {
  fprintf(stderr, is_so ? "  ok      %s\n" : "  FAILED  %s\n", what);
  if (!is_so) failed = 1;
}

/* From now on the kernel answers this call with this error, for this process. */
static void refuse(int call, int error) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof program / sizeof *program, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) _exit(99);
}

static int descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;
  while (folder && readdir(folder)) count++;
  closedir(folder);
  return count;
}

/* In a process of its own; true if it ends with 0. */
static int holds(int (*body)(int, int), int first, int second) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body(first, second));
  }
  waitpid(child, &status, 0);
  if (status != 0) fprintf(stderr, "          %d, %d: status %#x\n", first, second, (unsigned)status);
  return status == 0;
}

/* What is opened works, as far as it can; what is not, has said why. */
static int is_sound(int result, netwatch *monitor) {
  if (result != 0) return result < 0 && !monitor && netwatch_error_text();
  int status = netwatch_get_status(monitor), descriptor = netwatch_fd(monitor), changes = netwatch_dispatch(monitor);
  int is_sound = monitor && status >= NETWATCH_UNKNOWN && status <= NETWATCH_WIFI && descriptor >= 0 &&
                 (changes >= 0 || netwatch_error_text());
  netwatch_end(monitor, netwatch_begin(monitor, "request"));
  netwatch_dispatch(monitor);
  netwatch_close(monitor);
  return is_sound;
}

static int without_a_call(int call, int error) {
  netwatch *monitor;
  int before = descriptors(), is_whole;
  refuse(call, error);
  int result = netwatch_open(NULL, &monitor);
  is_whole = is_sound(result, monitor);
  return !(is_whole && descriptors() == before);
}

static int with_descriptors(int count, int ignored) {
  struct rlimit limit = {(rlim_t)count, (rlim_t)count};
  netwatch *monitor;
  (void)ignored;
  setrlimit(RLIMIT_NOFILE, &limit);
  int result = netwatch_open(NULL, &monitor);
  return !(is_sound(result, monitor) && (result == 0 || result == -EMFILE));
}

/* The kernel's news are lost: -ENOLINK once and for all, the state stays, and the descriptor is silent. */
static int lost(int call, int error) {
  const char *options[] = {"interfaces", NULL};
  netwatch *monitor;
  if (netwatch_open(options, &monitor) != 0) return 1;
  struct pollfd watched = {netwatch_fd(monitor), POLLIN, 0};
  int status = netwatch_get_status(monitor), changes = 0;
  if (system("ip link add lost0 type veth peer name lost1") != 0) return 2;
  refuse(call, error);
  while (changes >= 0 && poll(&watched, 1, 10000) == 1) changes = netwatch_dispatch(monitor);
  if (changes != -ENOLINK || !netwatch_error_text()) return 3;
  if (netwatch_get_status(monitor) != status || !netwatch_line(monitor)) return 4;
  netwatch_end(monitor, netwatch_begin(monitor, "request"));
  if (poll(&watched, 1, 500) != 0) return 5;
  if (netwatch_dispatch(monitor) != -ENOLINK || netwatch_fd(monitor) != watched.fd) return 6;
  netwatch_close(monitor);
  return 0;
}

static int leaves_nothing(int rounds, int ignored) {
  const char *options[] = {"interfaces", "activity=tcp,udp", "target=192.0.2.1", NULL};
  long resident[2] = {0, 0}, pages;
  netwatch *monitor;
  (void)ignored;
  alarm(3000);
  int before = descriptors();
  for (int round = 0; round < rounds; round++) {
    if (netwatch_open(round % 2 ? options : NULL, &monitor) != 0) return 1;
    netwatch_begin(monitor, "request");
    netwatch_dispatch(monitor);
    netwatch_line(monitor);
    netwatch_close(monitor);
    if (round != rounds / 4 && round != rounds - 1) continue;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1) return 2;
    fclose(file);
    resident[round == rounds - 1] = pages * 4;
  }
  fprintf(stderr, "          resident after a quarter of %d rounds %ld KiB, at the end %ld KiB\n", rounds, resident[0], resident[1]);
  if (descriptors() != before) return 3;
  return resident[1] - resident[0] > 256;
}

int main(int argc, char **argv) {
  static const struct { int number; const char *name; } calls[] = {
      {SYS_socket, "socket"}, {SYS_bind, "bind"}, {SYS_setsockopt, "setsockopt"}, {SYS_getsockopt, "getsockopt"},
      {SYS_sendto, "sendto"}, {SYS_sendmsg, "sendmsg"}, {SYS_recvfrom, "recvfrom"}, {SYS_recvmsg, "recvmsg"},
      {SYS_connect, "connect"}, {SYS_epoll_create1, "epoll_create1"}, {SYS_epoll_ctl, "epoll_ctl"},
      {SYS_epoll_wait, "epoll_wait"}, {SYS_eventfd2, "eventfd2"}, {SYS_timerfd_create, "timerfd_create"},
      {SYS_timerfd_settime, "timerfd_settime"}, {SYS_inotify_init1, "inotify_init1"},
      {SYS_inotify_add_watch, "inotify_add_watch"}, {SYS_fcntl, "fcntl"}, {SYS_readlink, "readlink"}, {SYS_ioctl, "ioctl"},
  };
  static const int errors[] = {ENOMEM, EMFILE, EPERM, ENOSYS};
  char what[128];
  for (size_t call = 0; call < sizeof calls / sizeof *calls; call++) {
    int is_so = 1;
    for (size_t error = 0; error < sizeof errors / sizeof *errors; error++) {
      is_so &= holds(without_a_call, calls[call].number, errors[error]);
    }
    snprintf(what, sizeof what, "open: the kernel refuses %s", calls[call].name);
    expect(what, is_so);
  }
  int is_so = 1;
  for (int count = descriptors(); count < descriptors() + 16; count++) is_so &= holds(with_descriptors, count, 0);
  expect("open: no descriptor is left, or some", is_so);
  expect("dispatch: news that cannot be read are -ENOLINK for good",
         holds(lost, SYS_recvfrom, EIO) && system("ip link del lost0") == 0 &&
             holds(lost, SYS_epoll_wait, EIO) && system("ip link del lost0") == 0);
  expect("open, close: nothing is left behind", holds(leaves_nothing, argc > 1 ? atoi(argv[1]) : 200, 0));
  return failed;
}
