/* Strangers of a service, and what they cost others.
 *   TestSandbox crowd SOCKET KIND COUNT USER…  each user has COUNT connections, which do what KIND says until standard input ends
 *   TestSandbox stopwatch SOCKET ROUTER NOTIFY   how long the service's lines take, while the route by ROUTER goes and comes
 *
 * crowd says "ready" when all its connections have their first line. KIND is a message that is sent over and over, in which each #
 * is a number that is new each time and each ~ changes between true and false; or one of these words:
 *   mute   asks for counters, and never reads
 *   half   sends a line byte by byte
 *   churn  connects and leaves at once, again and again
 *   greet  connects, reads the first line and leaves, again and again
 *
 * stopwatch says "bound" when NOTIFY is there, "ready" when the service has greeted it, and then, for each line with a number of
 * seconds that it reads, the times of that while in microseconds: count, median, 99th percentile and longest of losses and of first
 * lines of new clients; then the longest time between two messages of the watchdog. */
#define _GNU_SOURCE
#include "crowd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/route.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { most_connections = 1024, batch = 4096, most_samples = 100000 };

static int64_t microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int socket_at(const char *path, int type, int (*join)(int, const struct sockaddr *, socklen_t)) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int descriptor = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  if (!join(descriptor, (struct sockaddr *)&address, sizeof address)) return descriptor;
  int code = errno;
  close(descriptor);
  errno = code;
  return -1;
}

/* Connects, and reads up to the end of the first line. */
static int greeted(const char *path) {
  char text[16384];
  int descriptor = socket_at(path, SOCK_STREAM, connect);
  if (descriptor < 0) return -1;
  struct timeval patience = {.tv_sec = 60};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ssize_t count;
  while ((count = recv(descriptor, text, sizeof text, 0)) > 0)
    if (text[count - 1] == '\n') return descriptor;
  close(descriptor);
  return -1;
}

/* The next messages, in whole lines. */
static int fill(char *text, const char *kind, unsigned *number) {
  int length = 0;
  while (length < batch - 512) {
    for (const char *next = kind; *next; next++)
      if (*next == '#') length += sprintf(text + length, "%u.%03u", 1 + *number / 1000 % 80000, *number % 1000);
      else if (*next == '~') length += sprintf(text + length, *number % 2 ? "true" : "false");
      else text[length++] = *next;
    text[length++] = '\n';
    *number += 1;
  }
  return length;
}

static void come_and_go(const char *path, int reads) {
  for (;;) {
    int descriptor = reads ? greeted(path) : socket_at(path, SOCK_STREAM, connect);
    if (descriptor >= 0) close(descriptor);
  }
}

static void speak(struct pollfd *sides, int count, const char *kind) {
  static char text[batch], rest[65536];
  static int waiting[most_connections];
  static char *lines[most_connections];
  int is_mute = !strcmp(kind, "mute"), is_half = !strcmp(kind, "half");
  unsigned number = (unsigned)getpid();
  for (int place = 0; place < count; place++) {
    sides[place].events = is_mute ? POLLOUT : POLLIN | POLLOUT;
    if (!(lines[place] = malloc(batch))) exit(1);
  }
  for (;;) {
    if (poll(sides, (nfds_t)count, -1) < 0) exit(1);
    for (int place = 0; place < count; place++) {
      if (sides[place].revents & POLLIN)
        if (recv(sides[place].fd, rest, sizeof rest, MSG_DONTWAIT) == 0) fprintf(stderr, "a connection has ended\n"), exit(1);
      if (!(sides[place].revents & POLLOUT)) continue;
      if (is_half) {
        /* A line that is as long as a line may be. */
        number += 1;
        if (send(sides[place].fd, number / (unsigned)count % 4000 ? "[" : "\n", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) continue;
        continue;
      }
      if (!waiting[place]) {
        waiting[place] = fill(text, is_mute ? "{\"stats\":1}" : kind, &number);
        memcpy(lines[place], text, (size_t)waiting[place]);
      }
      ssize_t sent = send(sides[place].fd, lines[place], (size_t)waiting[place], MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent <= 0) continue;
      waiting[place] -= (int)sent;
      memmove(lines[place], lines[place] + sent, (size_t)waiting[place]);
    }
  }
}

/* A user and its connections. It ends with the process that has started it. */
static void live_as(uid_t user, const char *path, const char *kind, int count, int ready) {
  static struct pollfd sides[most_connections];
  if (setresgid(user, user, user) || setresuid(user, user, user)) perror("setresuid"), exit(1);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int comes_and_goes = !strcmp(kind, "churn") || !strcmp(kind, "greet");
  for (int place = 0; !comes_and_goes && place < count; place++)
    if ((sides[place].fd = greeted(path)) < 0) perror("connect"), exit(1);
  if (write(ready, "r", 1) < 0) exit(1);
  close(ready);
  if (comes_and_goes) come_and_go(path, !strcmp(kind, "greet"));
  speak(sides, count, kind);
}

int crowd(int argc, char **argv) {
  if (argc < 6 || atoi(argv[4]) > most_connections) return 64;
  struct rlimit files = {.rlim_cur = 4096, .rlim_max = 4096};
  setrlimit(RLIMIT_NOFILE, &files);
  int ends[2];
  char text[64];
  if (pipe(ends)) return 1;
  for (int place = 5; place < argc; place++)
    if (fork() == 0) {
      close(ends[0]);
      live_as((uid_t)atoi(argv[place]), argv[2], argv[3], atoi(argv[4]), ends[1]);
    }
  close(ends[1]);
  int ready = 0;
  for (ssize_t count; (count = read(ends[0], text, sizeof text)) > 0;) ready += (int)count;
  if (ready < argc - 5) return 1;
  printf("ready\n");
  fflush(stdout);
  while (read(STDIN_FILENO, text, sizeof text) > 0) {}
  return 0;
}

/* The longest time between two messages of the watchdog since it was asked last, in microseconds. */
static _Atomic int64_t longest_silence;

static void *hear(void *argument) {
  char text[256];
  int64_t last = 0;
  for (ssize_t count; (count = recv(*(int *)argument, text, sizeof text - 1, 0)) >= 0;) {
    text[count] = 0;
    if (strcmp(text, "WATCHDOG=1")) continue;
    int64_t now = microseconds();
    if (last && now - last > longest_silence) longest_silence = now - last;
    last = now;
  }
  return NULL;
}

/* The kernel tells of a route within the call; of a carrier it tells later, from a thread of its own. */
static void set_route(int descriptor, const char *router, int is_there) {
  struct sockaddr_in any = {.sin_family = AF_INET}, gateway = any;
  struct rtentry route = {.rt_flags = RTF_UP | RTF_GATEWAY};
  inet_pton(AF_INET, router, &gateway.sin_addr);
  memcpy(&route.rt_dst, &any, sizeof any);
  memcpy(&route.rt_genmask, &any, sizeof any);
  memcpy(&route.rt_gateway, &gateway, sizeof gateway);
  if (ioctl(descriptor, is_there ? SIOCADDRT : SIOCDELRT, &route)) perror(router), exit(1);
}

/* Reads lines until one has the text. */
static void await(FILE *lines, const char *text) {
  static char line[65536];
  while (fgets(line, sizeof line, lines))
    if (strstr(line, text)) return;
  fprintf(stderr, "the service is gone\n");
  exit(1);
}

static int by_size(const void *left, const void *right) {
  int64_t difference = *(const int64_t *)left - *(const int64_t *)right;
  return (difference > 0) - (difference < 0);
}

static void say(const char *what, int64_t *times, int count) {
  qsort(times, (size_t)count, sizeof *times, by_size);
  printf("%s %d %lld %lld %lld\n", what, count, (long long)times[count / 2], (long long)times[count * 99 / 100],
         (long long)times[count - 1]);
}

int stopwatch(int argc, char **argv) {
  static int64_t losses[most_samples], greetings[most_samples];
  if (argc < 5) return 64;
  int notify = socket_at(argv[4], SOCK_DGRAM, bind), device = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  pthread_t thread;
  if (notify < 0 || device < 0 || pthread_create(&thread, NULL, hear, &notify)) return perror(argv[4]), 1;
  printf("bound\n");
  fflush(stdout);
  int client = -1;
  for (int tries = 0; client < 0 && tries < 6000; tries++)
    if ((client = greeted(argv[2])) < 0) usleep(10000);
  FILE *lines = client < 0 ? NULL : fdopen(client, "r");
  if (!lines) return perror(argv[2]), 1;
  printf("ready\n");
  fflush(stdout);
  char text[64];
  while (fgets(text, sizeof text, stdin)) {
    int64_t end = microseconds() + (int64_t)(atof(text) * 1e6);
    int count = 0;
    longest_silence = 0;
    do {
      int64_t start = microseconds();
      set_route(device, argv[3], 0);
      await(lines, "\"status\":\"not-reachable\"");
      losses[count] = microseconds() - start;
      usleep((useconds_t)(20000 + count % 7 * 3000));
      set_route(device, argv[3], 1);
      await(lines, "\"status\":\"wifi\"");
      start = microseconds();
      int new = greeted(argv[2]);
      if (new < 0) return perror("a new client"), 1;
      greetings[count++] = microseconds() - start;
      close(new);
      usleep((useconds_t)(20000 + count % 5 * 5000));
    } while (microseconds() < end && count < most_samples);
    say("loss", losses, count);
    say("greeting", greetings, count);
    printf("watchdog %lld\n", (long long)longest_silence);
    fflush(stdout);
  }
  return 0;
}
