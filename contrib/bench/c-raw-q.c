/*
 * The physical limit: the least that a reachability monitor can do, on raw netlink sockets.
 *
 * For each wake-up it drains the event socket, asks the kernel for one route of the family that
 * changed and writes one line. With --no-lookup it does not ask (c-raw in the tables).
 */
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RECEIVE_CAPACITY = 32 * 1024, LINE_LENGTH = 480, LINE_CAPACITY = 1024 };

enum family { IPV4, IPV6, FAMILY_COUNT };

/* The attribute of variable size stands last, so that one layout serves both families. */
struct lookup {
  struct nlmsghdr header;
  struct rtmsg route;
  struct rtattr user_header;
  uint32_t user;
  struct rtattr destination_header;
  uint8_t destination[sizeof(struct in6_addr)];
};

struct answer {
  bool reachable;
  uint32_t link;
  char source[INET6_ADDRSTRLEN];
  char gateway[INET6_ADDRSTRLEN];
};

struct monitor {
  int events;
  int queries;
  bool asks;
  uint64_t sequence;
  struct lookup lookups[FAMILY_COUNT];
  struct answer answers[FAMILY_COUNT];
};

static _Alignas(struct nlmsghdr) char receive_buffer[RECEIVE_CAPACITY];

static uint32_t group_bit(enum rtnetlink_groups group) { return UINT32_C(1) << (group - 1); }

static int open_route_socket(uint32_t groups) {
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (descriptor < 0) err(2, "socket");
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) err(2, "bind");
  return descriptor;
}

static struct lookup prepare_lookup(int address_family, const char *destination) {
  size_t size = address_family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
  struct lookup lookup = {
      .header = {.nlmsg_len = offsetof(struct lookup, destination) + size,
                 .nlmsg_type = RTM_GETROUTE,
                 .nlmsg_flags = NLM_F_REQUEST},
      .route = {.rtm_family = address_family, .rtm_dst_len = 8 * size},
      .user_header = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_UID},
      .user = getuid(),
      .destination_header = {.rta_len = RTA_LENGTH(size), .rta_type = RTA_DST},
  };
  if (inet_pton(address_family, destination, lookup.destination) != 1) errx(2, "inet_pton");
  return lookup;
}

static struct answer parse_answer(const struct nlmsghdr *header) {
  struct answer answer = {0};
  if (header->nlmsg_type != RTM_NEWROUTE) return answer;

  const struct rtmsg *route = NLMSG_DATA(header);
  answer.reachable = route->rtm_type == RTN_UNICAST;
  int rest = RTM_PAYLOAD(header);
  for (const struct rtattr *attribute = RTM_RTA(route); RTA_OK(attribute, rest);
       attribute = RTA_NEXT(attribute, rest)) {
    const void *value = RTA_DATA(attribute);
    switch (attribute->rta_type) {
      case RTA_OIF:
        memcpy(&answer.link, value, sizeof answer.link);
        break;
      case RTA_PREFSRC:
        inet_ntop(route->rtm_family, value, answer.source, sizeof answer.source);
        break;
      case RTA_GATEWAY:
        inet_ntop(route->rtm_family, value, answer.gateway, sizeof answer.gateway);
        break;
    }
  }
  return answer;
}

static void ask(struct monitor *monitor, enum family family) {
  const struct lookup *lookup = &monitor->lookups[family];
  if (send(monitor->queries, lookup, lookup->header.nlmsg_len, 0) < 0) err(2, "send");
  ssize_t length = recv(monitor->queries, receive_buffer, sizeof receive_buffer, 0);
  if (length < (ssize_t)sizeof(struct nlmsghdr)) err(2, "recv of a route");
  monitor->answers[family] = parse_answer((const struct nlmsghdr *)receive_buffer);
}

/* Returns the family that changed last; a change of a link counts as IPv4. */
static enum family drain(const struct monitor *monitor) {
  enum family family = IPV4;
  for (;;) {
    ssize_t rest = recv(monitor->events, receive_buffer, sizeof receive_buffer, MSG_DONTWAIT);
    if (rest < 0) {
      if (errno == EAGAIN) return family;
      if (errno == ENOBUFS || errno == EINTR) continue;
      err(2, "recv");
    }
    for (const struct nlmsghdr *header = (const struct nlmsghdr *)receive_buffer;
         NLMSG_OK(header, rest); header = NLMSG_NEXT(header, rest)) {
      const struct rtgenmsg *message = NLMSG_DATA(header);
      family = message->rtgen_family == AF_INET6 ? IPV6 : IPV4;
    }
  }
}

static void format_answer(char *text, size_t capacity, const struct answer *answer) {
  if (answer->reachable) {
    snprintf(text, capacity, "{\"index\":%u,\"address\":\"%s\",\"gateway\":\"%s\"}", answer->link,
             answer->source, answer->gateway);
  } else {
    snprintf(text, capacity, "null");
  }
}

static void write_line(struct monitor *monitor, const char *event) {
  struct timespec wall, monotonic;
  clock_gettime(CLOCK_REALTIME, &wall);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  struct tm utc;
  gmtime_r(&wall.tv_sec, &utc);

  char families[FAMILY_COUNT][160];
  bool reachable = false;
  for (int family = 0; family < FAMILY_COUNT; family++) {
    format_answer(families[family], sizeof families[family], &monitor->answers[family]);
    reachable |= monitor->answers[family].reachable;
  }
  const char *status = !monitor->asks ? "unknown" : reachable ? "wifi" : "not-reachable";

  char line[LINE_CAPACITY];
  int length = snprintf(
      line, sizeof line,
      "{\"v\":1,\"seq\":%llu,\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ\","
      "\"mono_ns\":%lld,\"event\":\"%s\",\"reachability\":{\"status\":\"%s\",\"medium\":null,"
      "\"interface\":null,\"expensive\":null,\"vpn\":null,\"ipv4\":%s,\"ipv6\":%s,\"wifi\":null},"
      "\"activity\":{\"state\":\"inactive\",\"visible\":false,\"in_flight\":0}}",
      (unsigned long long)++monitor->sequence, utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
      utc.tm_hour, utc.tm_min, utc.tm_sec, wall.tv_nsec / 1000,
      monotonic.tv_sec * 1000000000LL + monotonic.tv_nsec, event, status, families[IPV4],
      families[IPV6]);
  /* As long as a full line of netwatch, whatever was reachable. */
  if (length < LINE_LENGTH - 1) {
    memset(line + length, ' ', LINE_LENGTH - 1 - length);
    length = LINE_LENGTH - 1;
  }
  line[length++] = '\n';
  if (write(STDOUT_FILENO, line, length) != length) err(2, "write");
}

static int watch(int events) {
  int poller = epoll_create1(EPOLL_CLOEXEC);
  if (poller < 0) err(2, "epoll_create1");
  struct epoll_event readable = {.events = EPOLLIN, .data.fd = events};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, events, &readable) < 0) err(2, "epoll_ctl");
  /* A silent writer never sees SIGPIPE; a regular file (EPERM) has no reader to lose. */
  struct epoll_event reader_gone = {.data.fd = STDOUT_FILENO};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, STDOUT_FILENO, &reader_gone) < 0 && errno != EPERM)
    err(2, "epoll_ctl of stdout");
  return poller;
}

int main(int count, char **arguments) {
  bool asks = count < 2 || strcmp(arguments[1], "--no-lookup") != 0;
  uint32_t groups = group_bit(RTNLGRP_LINK) | group_bit(RTNLGRP_IPV4_IFADDR) |
                    group_bit(RTNLGRP_IPV6_IFADDR) | group_bit(RTNLGRP_IPV4_ROUTE) |
                    group_bit(RTNLGRP_IPV6_ROUTE) | group_bit(RTNLGRP_IPV4_RULE) |
                    group_bit(RTNLGRP_IPV6_RULE) | group_bit(RTNLGRP_IPV4_NETCONF) |
                    group_bit(RTNLGRP_IPV6_NETCONF) | group_bit(RTNLGRP_NEXTHOP);
  struct monitor monitor = {
      .events = open_route_socket(groups),
      .queries = open_route_socket(0),
      .asks = asks,
      .lookups = {prepare_lookup(AF_INET, "192.0.2.1"), prepare_lookup(AF_INET6, "2001:db8::1")},
  };
  int poller = watch(monitor.events);

  if (monitor.asks) {
    ask(&monitor, IPV4);
    ask(&monitor, IPV6);
  }
  write_line(&monitor, "initial");

  for (;;) {
    struct epoll_event event;
    if (epoll_wait(poller, &event, 1, -1) < 0) {
      if (errno == EINTR) continue;
      err(2, "epoll_wait");
    }
    if (event.data.fd == STDOUT_FILENO) return 0;
    enum family changed = drain(&monitor);
    if (monitor.asks) ask(&monitor, changed);
    write_line(&monitor, "reachability");
  }
}
