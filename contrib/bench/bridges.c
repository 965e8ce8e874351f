/* Many links: how long it takes to list them, and what an event costs beside them. */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"
#include "process.h"
#include "routes.h"

enum {
  DEFAULT_ROUNDS = 11,
  LISTED_BRIDGES = 1500,
  BRIDGES = 300,
  PORTS = 3, /* of each bridge */
  EVENTS = 10000,
  PACE_US = 200, /* each event is worked on by itself */
  QUIET_MS = 200,
};

static const double listing_target = 3, event_target = 2;

enum event { PORT, ADDRESS, ROUTE, EVENT_COUNT };
static const char *const event_names[] = {
    [PORT] = "a port is switched on or off", [ADDRESS] = "an address comes or goes",
    [ROUTE] = "the default route comes or goes"};

static void run_batch(int count, void (*write_command)(FILE *, int)) {
  FILE *ip = popen("ip -batch -", "w");
  if (ip == NULL) err(2, "popen");
  for (int i = 0; i < count; i++) write_command(ip, i);
  if (pclose(ip) != 0) errx(2, "ip -batch failed");
}

static void run(const char *command) {
  if (system(command) != 0) errx(2, "failed: %s", command);
}

/* ---- Events ---- */

static void send_acknowledged(int socket, struct nlmsghdr *request) {
  request->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
  if (send(socket, request, request->nlmsg_len, 0) < 0) err(2, "send");
  struct {
    struct nlmsghdr header;
    struct nlmsgerr answer;
  } reply;
  if (recv(socket, &reply, sizeof reply, MSG_TRUNC) < (ssize_t)sizeof reply) err(2, "recv of an acknowledgement");
  if (reply.answer.error != 0) errx(2, "the kernel refused a change: %s", strerror(-reply.answer.error));
}

static void switch_link(int socket, int index, bool is_on) {
  struct {
    struct nlmsghdr header;
    struct ifinfomsg link;
  } request = {.header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_NEWLINK},
               .link = {.ifi_index = index, .ifi_change = IFF_UP, .ifi_flags = is_on ? IFF_UP : 0}};
  send_acknowledged(socket, &request.header);
}

static void change_address(int socket, int index, bool is_added) {
  struct {
    struct nlmsghdr header;
    struct ifaddrmsg address;
    struct rtattr attribute;
    uint32_t local;
  } request = {.header = {.nlmsg_len = sizeof request, .nlmsg_type = is_added ? RTM_NEWADDR : RTM_DELADDR},
               .address = {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = index},
               .attribute = {.rta_len = RTA_LENGTH(4), .rta_type = IFA_LOCAL},
               .local = htonl(0x0a090000 + index)};
  if (is_added) request.header.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
  send_acknowledged(socket, &request.header);
}

static void make_event(int socket, enum event event, int index, bool is_first) {
  struct route_request route = default_route_request(is_first ? DELETE_ROUTE : ADD_ROUTE);
  switch (event) {
    case PORT: return switch_link(socket, index, !is_first);
    case ADDRESS: return change_address(socket, index, is_first);
    case ROUTE: return send_acknowledged(socket, &route.header);
    case EVENT_COUNT: return;
  }
}

/* Microseconds of CPU for each event, about each of `count` links in turn. */
static double measure_events(const struct options *options, enum event event, const int *links, int count) {
  struct peer peer;
  peer_start(&peer, NETWATCH, options);
  peer_wait_ready(&peer);
  int socket = open_route_socket();
  uint64_t before = process_cpu_ns(peer.pid);
  for (int i = 0; i < EVENTS; i++) {
    make_event(socket, event, links[i / 2 % count], i % 2 == 0);
    usleep(PACE_US);
    if (event == ROUTE) peer_read(&peer, 0);
  }
  peer_read_until_silent(&peer, QUIET_MS);
  double cpu_us = (process_cpu_ns(peer.pid) - before) / 1e3 / EVENTS;
  close(socket);
  peer_stop(&peer);
  return cpu_us;
}

/* ---- Links ---- */

/* Ports that are up at once, and have no other end. */
static void write_port(FILE *ip, int number) {
  fprintf(ip, "link add p%d type ifb\nlink set p%d addrgenmode none\nlink set p%d master b%d\nlink set p%d up\n",
          number, number, number, number / PORTS, number);
}

static void write_bridge(FILE *ip, int number) {
  fprintf(ip, "link add b%d type bridge forward_delay 0\nlink set b%d addrgenmode none\nlink set b%d up\n", number, number, number);
}

static void write_removal(FILE *ip, int number) { fprintf(ip, "link del p%d\n", number); }

static void write_spare_bridge(FILE *ip, int number) { fprintf(ip, "link add s%d type bridge\n", number); }

static int *ports(int count) {
  int *links = allocate(count, sizeof *links);
  for (int i = 0; i < count; i++) {
    char name[IF_NAMESIZE];
    snprintf(name, sizeof name, "p%d", i);
    links[i] = if_nametoindex(name);
    if (links[i] == 0) err(2, "%s", name);
  }
  return links;
}

/* ---- Listing ---- */

/* Milliseconds until the program has ended. */
static double time_listing(const struct options *options, char *const *arguments) {
  int output = open("/dev/null", O_WRONLY | O_CLOEXEC), messages = open_log(options, "listing");
  uint64_t start = now_ns();
  pid_t pid = process_start(arguments[0], arguments, output, messages);
  int status;
  if (waitpid(pid, &status, 0) < 0) err(2, "waitpid");
  double milliseconds = (now_ns() - start) / 1e6;
  if (status != 0) errx(2, "%s failed; its messages are in listing.log beside the compiled programs", arguments[0]);
  close(output);
  close(messages);
  return milliseconds;
}

static bool measure_listing(const struct options *options, int rounds) {
  char *path = (char *)options->netwatch;
  char *const json[] = {path, "status", "--json", "--interfaces", "--no-service", NULL};
  char *const text[] = {path, "status", "--format=text", "--interfaces", "--no-service", NULL};
  char *const ip[] = {"ip", "-d", "link", NULL};
  char *const *programs[] = {ip, json, text};
  static const char *const names[] = {"ip -d link", "netwatch, JSON", "netwatch, text"};
  double *times[3];
  for (int i = 0; i < 3; i++) times[i] = allocate(rounds, sizeof(double));
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < 3; i++) times[(round + i) % 3][round] = time_listing(options, programs[(round + i) % 3]);
  }
  printf("| %d bridges listed | median ms | to ip |\n|---------------------|----------:|------:|\n", LISTED_BRIDGES);
  double reference = median(times[0], rounds);
  bool met = true;
  for (int i = 0; i < 3; i++)
    printf("| %-19s | %9.1f | %5.2f |\n", names[i], median(times[i], rounds), median(times[i], rounds) / reference);
  printf("\n");
  for (int i = 1; i < 3; i++) {
    double ratio = median(times[i], rounds) / reference;
    met &= verdict(ratio <= listing_target, "%s lists %d bridges in %.2f x the time of ip -d link, at most %.0f",
                   names[i], LISTED_BRIDGES, ratio, listing_target);
  }
  return met;
}

bool run_bridges(const struct options *options) {
  int rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
  double few[EVENT_COUNT], many[EVENT_COUNT];
  set_up_network();
  int socket = open_route_socket();
  const struct route_request addition = default_route_request(ADD_ROUTE);
  send_route_request(socket, &addition);
  expect_no_refusal(socket);
  close(socket);

  run_batch(1, write_bridge);
  run_batch(1, write_port);
  int *one = ports(1);
  sleep_ms(1500); /* the kernel may announce carrier up to a second late */
  for (int event = 0; event < EVENT_COUNT; event++) {
    progress("bridges: %s, among 5 links", event_names[event]);
    few[event] = measure_events(options, event, one, 1);
  }
  run_batch(1, write_removal);
  run("ip link del b0");

  progress("bridges: making %d bridges and %d ports", BRIDGES, BRIDGES * PORTS);
  run_batch(BRIDGES, write_bridge);
  run_batch(BRIDGES * PORTS, write_port);
  int *all = ports(BRIDGES * PORTS);
  sleep_ms(1500);
  for (int event = 0; event < EVENT_COUNT; event++) {
    progress("bridges: %s, among %d bridges and %d ports", event_names[event], BRIDGES, BRIDGES * PORTS);
    many[event] = measure_events(options, event, all, BRIDGES * PORTS);
  }

  printf("| CPU of an event, us             | among 5 links | among %d | ratio |\n", BRIDGES * (PORTS + 1) + 3);
  printf("|---------------------------------|--------------:|-----------:|------:|\n");
  for (int event = 0; event < EVENT_COUNT; event++)
    printf("| %-31s | %13.1f | %10.1f | %5.2f |\n", event_names[event], few[event], many[event],
           many[event] / few[event]);
  printf("%d events of each kind, %d us apart\n\n", EVENTS, PACE_US);
  bool met = true;
  for (int event = 0; event < EVENT_COUNT; event++)
    met &= verdict(many[event] <= event_target * few[event], "%s: %.2f x the CPU among few links, at most %.0f",
                   event_names[event], many[event] / few[event], event_target);

  progress("bridges: making %d bridges", LISTED_BRIDGES);
  run_batch(BRIDGES * PORTS, write_removal);
  run_batch(LISTED_BRIDGES - BRIDGES, write_spare_bridge);
  printf("\n");
  return measure_listing(options, rounds) && met;
}
