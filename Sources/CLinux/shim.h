/* glibc's own headers that Swift's Glibc module leaves out, and a few inline functions for calls that Swift cannot make. */
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

/* Hidden behind _GNU_SOURCE, which cannot be defined any more when Glibc has read the headers. */
#include <pthread.h>
int pthread_setname_np(pthread_t thread, const char *name);
int pipe2(int ends[2], int flags);

#include <spawn.h>
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);

#include <sys/socket.h>
int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

/* struct ucred: the answer to SO_PEERCRED. */
struct peer_credentials {
  int process;
  unsigned int user;
  unsigned int group;
};

/* POSIX_SPAWN_SETSID. */
static const int netwatch_spawn_new_session = 0x80;

/* O_PATH. */
#include <fcntl.h>
static const int netwatch_open_path = __O_PATH;

/* F_OFD_GETLK, F_OFD_SETLK and F_OFD_SETLKW. */
static const int netwatch_lock_get = 36;
static const int netwatch_lock_set = 37;
static const int netwatch_lock_wait = 38;

#include <sys/inotify.h>

#define MFD_CLOEXEC 1U
int memfd_create(const char *name, unsigned int flags);

int renameat2(int old_folder, const char *old_path, int new_folder, const char *new_path, unsigned int flags);
static const unsigned int netwatch_rename_noreplace = 1;

int setns(int descriptor, int kind);
/* CLONE_NEWNET. */
static const int netwatch_network_namespace = 0x40000000;
/* CLONE_NEWUSER. */
static const int netwatch_user_namespace = 0x10000000;

#include <sys/syscall.h>
#include <unistd.h>
/* syscall is variadic too, and glibc has a function for it since 2.36. */
static inline int netwatch_pidfd_open(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0U); }

#include <sys/prctl.h>
/* prctl is variadic, which Swift cannot call. */
static inline int netwatch_set_parent_death_signal(int signal) {
  return prctl(PR_SET_PDEATHSIG, (unsigned long)signal, 0UL, 0UL, 0UL);
}

/* Locks that belong to an open file, and fcntl with them, which is variadic. F_OFD_* are hidden behind _GNU_SOURCE. */
#include <fcntl.h>
static inline int netwatch_lock(int descriptor, _Bool waits, struct flock *lock) {
  return fcntl(descriptor, waits ? 38 : 37, lock);
}
static inline int netwatch_query_lock(int descriptor, struct flock *lock) { return fcntl(descriptor, 36, lock); }
