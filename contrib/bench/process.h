/* Processes: started and ended, and what /proc tells about them. */
#ifndef NETWATCH_BENCH_PROCESS_H
#define NETWATCH_BENCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness.h"

/* A file in the programs' folder for the messages of one of them. */
int open_log(const struct options *options, const char *name);

/* Dies with the harness. */
pid_t process_start(const char *path, char *const *arguments, int output, int messages);

/* Onto one of the processors that the harness's parent may use, counted from 0; what the process starts stays there, too. */
void process_pin(pid_t pid, int wanted);

/* SIGTERM, and SIGKILL where that does not help. */
void process_stop(pid_t pid);

struct memory {
  long resident_kib;
  long private_dirty_kib;
};

struct netlink_state {
  bool is_listening; /* a routing socket has joined a group */
  uint64_t dropped;  /* messages that did not fit into its sockets */
};

/* All of these count every thread of the process. */
struct memory process_memory(pid_t pid);
struct netlink_state process_netlink(pid_t pid);
uint64_t process_cpu_ns(pid_t pid);
uint64_t process_wakeups(pid_t pid);
int process_threads(pid_t pid);

/* Different libraries mapped; the dynamic loader does not count. */
int process_shared_libraries(pid_t pid);

long process_file_kib(pid_t pid);

#endif
