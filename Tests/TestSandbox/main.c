/* Runs a command with something taken away:
 *   TestSandbox netlink COMMAND…   socket(AF_NETLINK) fails with EPERM
 *   TestSandbox sockdiag COMMAND…  socket(AF_NETLINK, …, NETLINK_SOCK_DIAG) does
 *   TestSandbox generic COMMAND…   socket(AF_NETLINK, …, NETLINK_GENERIC) does
 *   TestSandbox filter COMMAND…    setsockopt(SO_ATTACH_FILTER) fails with EPERM
 *   TestSandbox strict COMMAND…    setsockopt(NETLINK_GET_STRICT_CHK) fails with ENOPROTOOPT, as before Linux 4.20
 *   TestSandbox lookup COMMAND…    a request as long as a route lookup fails with EPERM
 *   TestSandbox list COMMAND…      a request as long as that for all links does
 *   TestSandbox rename COMMAND…    renameat2 knows no flags, as on NFS
 *   TestSandbox chmod COMMAND…     chmod fails with EPERM
 *   TestSandbox pidfd COMMAND…     pidfd_open is unknown, as before Linux 5.3
 *   TestSandbox sigpipe COMMAND…   SIGPIPE is ignored, as waybar's children have it
 *   TestSandbox stdout COMMAND…    standard output is closed
 *   TestSandbox sigchld COMMAND…   SIGCHLD is ignored, as some window managers have it
 *   TestSandbox connect SOCKET     what it reads goes to the socket, what the socket says is printed
 *   TestSandbox exchange A B       exchanges two files as often as it can, until it is ended; says "ready" after the first time
 *   TestSandbox crowd …, stopwatch …  see crowd.c
 *   TestSandbox listen SOCKET      tells every client the first line that it reads, and says no more
 * C, because prctl is variadic. */
#include "crowd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int install(struct sock_filter *program, unsigned short length) {
  struct sock_fprog fprog = {.len = length, .filter = program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog);
}

static int forbid(int argument, unsigned value) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * argument),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install(program, sizeof program / sizeof *program);
}

/* setsockopt of one option. */
static int forbid_option(int level, int option, int code) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, level, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, option, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install(program, sizeof program / sizeof *program);
}

/* Requests of one of two lengths: a filter sees no more of them. */
static int forbid_requests(unsigned length, unsigned other) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, length, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install(program, sizeof program / sizeof *program);
}

static int forbid_rename_flags(void) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install(program, sizeof program / sizeof *program);
}

static int forbid_chmod(void) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_chmod
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_chmod, 1, 0),
#endif
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmodat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install(program, sizeof program / sizeof *program);
}

/* As before Linux 5.3. */
static int forbid_pidfd(void) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install(program, sizeof program / sizeof *program);
}

static int join_socket(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char text[4096];
  int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) return perror(path), 1;
  struct pollfd sides[] = {{.fd = descriptor, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
  while (poll(sides, 2, -1) > 0)
    for (int side = 0; side < 2; side++) {
      if (!sides[side].revents) continue;
      ssize_t count = read(sides[side].fd, text, sizeof text);
      if (count <= 0 && side == 0) return 0;
      if (count <= 0) sides[side].fd = -1;
      if (count > 0 && write(side == 0 ? STDOUT_FILENO : descriptor, text, count) < 0) return 1;
    }
  return 1;
}

/* A service that a test makes up. Anybody may connect. */
static int pretend(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char line[8192];
  int descriptor = socket(AF_UNIX, SOCK_STREAM, 0), client;
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (!fgets(line, sizeof line, stdin)) return 64;
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) || chmod(path, 0666) || listen(descriptor, 64))
    return perror(path), 1;
  if (puts("ready") < 0 || fflush(stdout)) return 1;
  while ((client = accept(descriptor, NULL, NULL)) >= 0)
    if (write(client, line, strlen(line)) < 0) perror(path);
  return 1;
}

static int exchange(const char *path, const char *other) {
  for (int isReady = 0;;) {
    /* RENAME_EXCHANGE is 2. */
    if (syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 2)) return perror(path), 1;
    if (!isReady++ && (puts("ready") < 0 || fflush(stdout))) return 1;
    isReady = 1;
  }
}

int main(int argc, char **argv) {
  if (argc < 3) return 64;
  if (!strcmp(argv[1], "listen")) return pretend(argv[2]);
  if (!strcmp(argv[1], "crowd")) return crowd(argc, argv);
  if (!strcmp(argv[1], "stopwatch")) return stopwatch(argc, argv);
  if (!strcmp(argv[1], "connect")) return join_socket(argv[2]);
  if (!strcmp(argv[1], "exchange")) return argc == 4 ? exchange(argv[2], argv[3]) : 64;
  int failed = 0;
  if (!strcmp(argv[1], "netlink")) failed = forbid(0, AF_NETLINK);
  if (!strcmp(argv[1], "sockdiag")) failed = forbid(2, NETLINK_SOCK_DIAG);
  if (!strcmp(argv[1], "generic")) failed = forbid(2, NETLINK_GENERIC);
  if (!strcmp(argv[1], "filter")) failed = forbid_option(SOL_SOCKET, SO_ATTACH_FILTER, EPERM);
  if (!strcmp(argv[1], "strict")) failed = forbid_option(SOL_NETLINK, NETLINK_GET_STRICT_CHK, ENOPROTOOPT);
  /* Headers, the address and the user; headers and the mask of what is wanted. */
  if (!strcmp(argv[1], "lookup")) failed = forbid_requests(16 + 12 + 8 + 8, 16 + 12 + 20 + 8);
  if (!strcmp(argv[1], "list")) failed = forbid_requests(16 + 16 + 8, 16 + 16 + 8);
  if (!strcmp(argv[1], "rename")) failed = forbid_rename_flags();
  if (!strcmp(argv[1], "chmod")) failed = forbid_chmod();
  if (!strcmp(argv[1], "pidfd")) failed = forbid_pidfd();
  if (!strcmp(argv[1], "sigpipe")) failed = signal(SIGPIPE, SIG_IGN) == SIG_ERR;
  if (!strcmp(argv[1], "sigchld")) failed = signal(SIGCHLD, SIG_IGN) == SIG_ERR;
  if (!strcmp(argv[1], "stdout")) failed = close(STDOUT_FILENO);
  if (failed) return perror(argv[1]), 1;
  execv(argv[2], argv + 2);
  perror(argv[2]);
  return 1;
}
