#define _GNU_SOURCE

#include "process.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  STOP_LIMIT_MS = 1000,
  MAXIMUM_SOCKETS = 256,
  MAXIMUM_LIBRARIES = 256,
  NAME_CAPACITY = 64,
  PATH_CAPACITY = 128,
};

int open_log(const struct options *options, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.log", options->programs, name);
  int messages = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (messages < 0) err(2, "%s", path);
  return messages;
}

/* vfork keeps the harness's own size out of the start time. */
pid_t process_start(const char *path, char *const *arguments, int output, int messages) {
  pid_t harness = getpid();
  pid_t pid = vfork();
  if (pid < 0) err(2, "vfork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != harness) _exit(127);
    if (dup2(output, STDOUT_FILENO) < 0 || dup2(messages, STDERR_FILENO) < 0) _exit(127);
    execvp(path, arguments);
    _exit(127);
  }
  return pid;
}

void process_stop(pid_t pid) {
  kill(pid, SIGTERM);
  uint64_t deadline = now_ns() + STOP_LIMIT_MS * UINT64_C(1000000);
  while (waitpid(pid, NULL, WNOHANG) == 0) {
    if (now_ns() > deadline) {
      kill(pid, SIGKILL);
      waitpid(pid, NULL, 0);
      return;
    }
    sleep_ms(1);
  }
}

static FILE *open_file(pid_t pid, const char *name) {
  char path[PATH_CAPACITY];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  FILE *file = fopen(path, "re");
  if (file == NULL) err(2, "%s", path);
  return file;
}

static DIR *open_folder(pid_t pid, const char *name) {
  char path[PATH_CAPACITY];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  DIR *folder = opendir(path);
  if (folder == NULL) err(2, "%s", path);
  return folder;
}

struct memory process_memory(pid_t pid) {
  struct memory memory = {0};
  char line[512];
  FILE *file = open_file(pid, "smaps_rollup");
  while (fgets(line, sizeof line, file)) {
    sscanf(line, "Rss: %ld", &memory.resident_kib);
    sscanf(line, "Private_Dirty: %ld", &memory.private_dirty_kib);
  }
  fclose(file);
  return memory;
}

static size_t socket_inodes(pid_t pid, unsigned long *inodes) {
  size_t count = 0;
  DIR *folder = open_folder(pid, "fd");
  for (struct dirent *entry; (entry = readdir(folder)) != NULL && count < MAXIMUM_SOCKETS;) {
    char target[64] = "";
    if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) < 0) continue;
    if (sscanf(target, "socket:[%lu]", &inodes[count]) == 1) count++;
  }
  closedir(folder);
  return count;
}

struct netlink_state process_netlink(pid_t pid) {
  unsigned long inodes[MAXIMUM_SOCKETS];
  size_t count = socket_inodes(pid, inodes);
  struct netlink_state state = {0};
  char line[512];
  FILE *file = open_file(pid, "net/netlink");
  while (fgets(line, sizeof line, file)) {
    int protocol;
    unsigned groups;
    unsigned long dropped, inode;
    if (sscanf(line, "%*s %d %*u %x %*d %*d %*s %*d %lu %lu", &protocol, &groups, &dropped,
               &inode) != 4)
      continue;
    for (size_t i = 0; i < count; i++) {
      if (inodes[i] != inode) continue;
      state.is_listening |= protocol == NETLINK_ROUTE && groups != 0;
      state.dropped += dropped;
    }
  }
  fclose(file);
  return state;
}

/* Visits one file of each thread; returns how many threads there are. */
static int for_each_thread(pid_t pid, const char *name, void (*visit)(FILE *, uint64_t *),
                           uint64_t *sum) {
  int count = 0;
  DIR *folder = open_folder(pid, "task");
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    pid_t thread = atoi(entry->d_name);
    if (thread == 0) continue;
    char thread_file[NAME_CAPACITY];
    snprintf(thread_file, sizeof thread_file, "task/%d/%s", thread, name);
    FILE *file = open_file(pid, thread_file);
    visit(file, sum);
    fclose(file);
    count++;
  }
  closedir(folder);
  return count;
}

static void add_cpu_ns(FILE *file, uint64_t *sum) {
  unsigned long long running = 0;
  if (fscanf(file, "%llu", &running) == 1) *sum += running;
}

static void add_switches(FILE *file, uint64_t *sum) {
  char line[512];
  unsigned long long switches;
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "voluntary_ctxt_switches: %llu", &switches) == 1 ||
        sscanf(line, "nonvoluntary_ctxt_switches: %llu", &switches) == 1)
      *sum += switches;
  }
}

uint64_t process_cpu_ns(pid_t pid) {
  uint64_t sum = 0;
  for_each_thread(pid, "schedstat", add_cpu_ns, &sum);
  return sum;
}

uint64_t process_wakeups(pid_t pid) {
  uint64_t sum = 0;
  for_each_thread(pid, "status", add_switches, &sum);
  return sum;
}

int process_threads(pid_t pid) {
  uint64_t unused = 0;
  return for_each_thread(pid, "status", add_switches, &unused);
}

static bool is_library(const char *name) {
  const char *suffix = strstr(name, ".so");
  return suffix != NULL && (suffix[3] == '\0' || suffix[3] == '.') && strncmp(name, "ld-", 3) != 0;
}

int process_shared_libraries(pid_t pid) {
  unsigned long seen[MAXIMUM_LIBRARIES];
  int count = 0;
  char line[4096 + 128];
  FILE *file = open_file(pid, "maps");
  while (fgets(line, sizeof line, file)) {
    unsigned long inode;
    char path[4096];
    if (sscanf(line, "%*s %*s %*s %*s %lu %4095s", &inode, path) != 2) continue;
    const char *slash = strrchr(path, '/');
    if (slash == NULL || !is_library(slash + 1)) continue;
    bool known = false;
    for (int i = 0; i < count; i++) known |= seen[i] == inode;
    if (!known && count < MAXIMUM_LIBRARIES) seen[count++] = inode;
  }
  fclose(file);
  return count;
}

long process_file_kib(pid_t pid) {
  char path[PATH_CAPACITY];
  snprintf(path, sizeof path, "/proc/%d/exe", pid);
  struct stat status;
  if (stat(path, &status) < 0) err(2, "%s", path);
  return (status.st_size + 1023) / 1024;
}

void process_pin(pid_t pid, int wanted) {
  cpu_set_t allowed, chosen;
  if (sched_getaffinity(getppid(), sizeof allowed, &allowed) < 0) err(2, "sched_getaffinity");
  for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed) || seen++ != wanted) continue;
    CPU_ZERO(&chosen);
    CPU_SET(cpu, &chosen);
    if (sched_setaffinity(pid, sizeof chosen, &chosen) < 0) err(2, "sched_setaffinity");
  }
}
