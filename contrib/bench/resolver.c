#define _GNU_SOURCE

#include "resolver.h"

#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

enum { DNS_PORT = 53, HEADER_SIZE = 12, MESSAGE_CAPACITY = 512, TYPE_A = 1 };

const char resolver_host[] = "host.bench";

static int server = -1;

void resolver_open(void) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons(DNS_PORT),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (server < 0) err(2, "socket");
  if (bind(server, (struct sockaddr *)&address, sizeof address) < 0) err(2, "bind to port 53");
}

/* 203.0.113.7 for every name; no address of another type. */
static void answer(uint8_t *message, size_t length, const struct sockaddr_in *client) {
  static const uint8_t record[] = {0xc0, HEADER_SIZE, 0, TYPE_A, 0, 1, 0, 0, 0, 60, 0, 4, 203, 0, 113, 7};
  size_t end = HEADER_SIZE;
  while (end < length && message[end] != 0) end += message[end] + 1;
  end += 1 + 4;
  if (end > length || end + sizeof record > MESSAGE_CAPACITY) return;
  bool has_address = message[end - 3] == TYPE_A;
  message[2] = 0x84; /* a reply, with authority */
  message[3] = 0;
  memset(message + 6, 0, HEADER_SIZE - 6);
  if (has_address) {
    message[7] = 1;
    memcpy(message + end, record, sizeof record);
    end += sizeof record;
  }
  sendto(server, message, end, 0, (const struct sockaddr *)client, sizeof *client);
}

void resolver_serve_until_readable(int other, int timeout_ms) {
  uint64_t deadline = now_ns() + timeout_ms * UINT64_C(1000000);
  while (now_ns() < deadline) {
    struct pollfd both[] = {{.fd = other, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    if (poll(both, 2, timeout_ms) < 0) err(2, "poll");
    uint8_t message[MESSAGE_CAPACITY];
    struct sockaddr_in client;
    socklen_t size = sizeof client;
    ssize_t length = recvfrom(server, message, sizeof message, 0, (struct sockaddr *)&client, &size);
    if (length >= HEADER_SIZE) answer(message, length, &client);
    if (both[0].revents != 0) return;
  }
}
