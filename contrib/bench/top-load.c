/* Makes TCP connections whose payload is known to the byte, for the benchmark of `netwatch top`.

   top-load serve PORT                            answers until it is ended
   top-load short HOST PORT RATE SECONDS          opens RATE connections a second, each for one exchange; 0: one after the other
   top-load refused HOST PORT RATE SECONDS        tries to connect RATE times a second where nobody listens, and closes each socket
   top-load steady HOST PORT COUNT SECONDS        has COUNT connections, on which it exchanges all the time
   top-load hold HOST PORT COUNT NEW SECONDS      has COUNT connections, of which it replaces NEW each second

   A client prints how many connections it has opened, and how many bytes it has received and sent. Its name is that of its
   program's file. Each exchange is a request, which begins with the lengths of both, and an answer. */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct header {
  uint32_t request, answer, closes;
};

static char bytes[1 << 20];
static uint64_t connections, received, sent;

static void fail(const char *what) {
  fprintf(stderr, "top-load: %s: %s\n", what, strerror(errno));
  exit(2);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void pause_until(double moment) {
  double left = moment - now();
  if (left > 0) usleep(left * 1e6);
}

static int send_all(int socket, const void *data, size_t count) {
  for (const char *rest = data; count > 0;) {
    ssize_t part = send(socket, rest, count, MSG_NOSIGNAL);
    if (part < 0) return -1;
    rest += part;
    count -= part;
  }
  return 0;
}

static int receive_all(int socket, size_t count) {
  while (count > 0) {
    ssize_t part = recv(socket, bytes, count < sizeof bytes ? count : sizeof bytes, 0);
    if (part <= 0) return -1;
    count -= part;
  }
  return 0;
}

static void allow_sockets(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static void serve(int port) {
  struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  int listener = socket(AF_INET6, SOCK_STREAM, 0), one = 1, events = epoll_create1(0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) fail("listen");
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
  epoll_ctl(events, EPOLL_CTL_ADD, listener, &event);
  puts("ready");
  fflush(stdout);
  for (;;) {
    struct epoll_event ready[64];
    int count = epoll_wait(events, ready, 64, -1);
    for (int i = 0; i < count; i++) {
      int socket = ready[i].data.fd;
      if (socket == listener) {
        event.data.fd = accept(listener, NULL, NULL);
        if (event.data.fd >= 0) epoll_ctl(events, EPOLL_CTL_ADD, event.data.fd, &event);
        continue;
      }
      struct header header;
      if (recv(socket, &header, sizeof header, MSG_WAITALL) != sizeof header ||
          receive_all(socket, header.request - sizeof header) || send_all(socket, bytes, header.answer) || header.closes)
        close(socket);
    }
  }
}

static struct sockaddr_in peer = {.sin_family = AF_INET};

static int open_connection(void) {
  int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connection < 0 || connect(connection, (struct sockaddr *)&peer, sizeof peer)) fail("connect");
  connections++;
  return connection;
}

static void exchange(int socket, uint32_t request, uint32_t answer, int closes) {
  struct header header = {request, answer, closes};
  memcpy(bytes, &header, sizeof header);
  if (send_all(socket, bytes, request) || receive_all(socket, answer)) fail("exchange");
  sent += request;
  received += answer;
}

/* Half of them are closed by the other side first. */
static void run_short(double rate, double seconds) {
  double begin = now();
  for (uint64_t i = 0; now() < begin + seconds; i++) {
    if (rate > 0) pause_until(begin + i / rate);
    int closes = i % 2, socket = open_connection();
    exchange(socket, 200 + i % 400, 500 + i % 2000, closes);
    if (closes && recv(socket, bytes, 1, 0) != 0) fail("end");
    close(socket);
  }
}

/* The cheapest sockets that close: a hundred at once, because a timer is not exact enough for single ones. */
static void run_refused(double rate, double seconds) {
  double begin = now();
  for (uint64_t i = 0; now() < begin + seconds; i++) {
    if (rate > 0 && i % 100 == 0) pause_until(begin + i / rate);
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&peer, sizeof peer) == 0 || errno != ECONNREFUSED)
      fail("refused");
    close(connection);
    connections++;
  }
}

static void run_steady(int count, double seconds) {
  int sockets[count];
  for (int i = 0; i < count; i++) sockets[i] = open_connection();
  double begin = now();
  for (uint64_t i = 0; now() < begin + seconds; i++) {
    pause_until(begin + i / 200.0);
    exchange(sockets[i % count], 20000, 70000, 0);
  }
  for (int i = 0; i < count; i++) close(sockets[i]);
}

static void run_hold(int count, int fresh, double seconds) {
  int *sockets = calloc(count, sizeof *sockets);
  for (int i = 0; i < count; i++) sockets[i] = open_connection();
  puts("ready");
  fflush(stdout);
  double begin = now();
  for (uint64_t i = 0; now() < begin + seconds; i++) {
    pause_until(begin + (double)i / fresh);
    close(sockets[i % count]);
    sockets[i % count] = open_connection();
    exchange(sockets[i % count], 300, 3000, 0);
  }
}

int main(int count, char **arguments) {
  allow_sockets();
  const char *mode = count > 1 ? arguments[1] : "";
  if (!strcmp(mode, "serve") && count == 3) serve(atoi(arguments[2]));
  if (count < 6 || inet_pton(AF_INET, arguments[2], &peer.sin_addr) != 1) {
    fputs("usage: top-load serve PORT, or short, refused, steady or hold HOST PORT NUMBER [NEW] SECONDS\n", stderr);
    return 2;
  }
  peer.sin_port = htons(atoi(arguments[3]));
  if (!strcmp(mode, "short")) run_short(atof(arguments[4]), atof(arguments[5]));
  if (!strcmp(mode, "refused")) run_refused(atof(arguments[4]), atof(arguments[5]));
  if (!strcmp(mode, "steady")) run_steady(atoi(arguments[4]), atof(arguments[5]));
  if (!strcmp(mode, "hold") && count == 7) run_hold(atoi(arguments[4]), atoi(arguments[5]), atof(arguments[6]));
  printf("%llu %llu %llu\n", (unsigned long long)connections, (unsigned long long)received, (unsigned long long)sent);
  return 0;
}
