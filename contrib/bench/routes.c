#define _GNU_SOURCE

#include "routes.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

enum { BATCH_SIZE = 256, LINK_SETTLE_MS = 1500 };

static const uint32_t gateway = 0x0a000002;          /* 10.0.0.2 */
static const uint32_t background_first = 0x0a800000; /* 10.128.0.0 */

static void run(const char *command) {
  if (system(command) != 0) errx(2, "failed: %s", command);
}

void set_up_network(void) {
  if (if_nametoindex("v0") != 0) errx(2, "v0 exists: run this in a fresh network namespace");
  run("ip link set lo up");
  run("ip link add v0 type veth peer name v1");
  /* Without link-local addresses nothing stirs later, when the peers should be idle. */
  run("ip link set v0 addrgenmode none");
  run("ip link set v1 addrgenmode none");
  run("ip address add 10.0.0.1/24 dev v0");
  run("ip link set v1 up");
  run("ip link set v0 up");
  /* The kernel may announce carrier up to a second late. */
  sleep_ms(LINK_SETTLE_MS);
}

int open_route_socket(void) {
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (descriptor < 0) err(2, "socket");
  return descriptor;
}

static struct route_request route_request(enum route_change change, int prefix_length) {
  struct route_request request = {
      .header = {.nlmsg_len = sizeof request,
                 .nlmsg_type = change == ADD_ROUTE ? RTM_NEWROUTE : RTM_DELROUTE,
                 .nlmsg_flags = NLM_F_REQUEST},
      .route = {.rtm_family = AF_INET,
                .rtm_dst_len = prefix_length,
                .rtm_table = RT_TABLE_MAIN,
                .rtm_protocol = RTPROT_STATIC,
                .rtm_scope = RT_SCOPE_UNIVERSE,
                .rtm_type = RTN_UNICAST},
  };
  if (change == ADD_ROUTE) request.header.nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
  const struct {
    unsigned short type;
    uint32_t value;
  } attributes[] = {{RTA_GATEWAY, htonl(gateway)}, {RTA_OIF, if_nametoindex("v0")}, {RTA_DST, 0}};
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    request.attributes[i].header.rta_len = RTA_LENGTH(sizeof(uint32_t));
    request.attributes[i].header.rta_type = attributes[i].type;
    request.attributes[i].value = attributes[i].value;
  }
  return request;
}

struct route_request default_route_request(enum route_change change) {
  struct route_request request = route_request(change, 0);
  /* A default route carries no destination, which is the last attribute. */
  request.header.nlmsg_len -= sizeof request.attributes[2];
  return request;
}

static struct route_request host_route_request(enum route_change change, uint32_t address) {
  static struct route_request prepared[2];
  if (prepared[change].header.nlmsg_len == 0) prepared[change] = route_request(change, 32);
  struct route_request request = prepared[change];
  request.attributes[2].value = htonl(address);
  return request;
}

void send_route_request(int socket, const struct route_request *request) {
  if (send(socket, request, request->header.nlmsg_len, 0) < 0) err(2, "send of a route change");
}

static void await_acknowledgement(int socket) {
  struct {
    struct nlmsghdr header;
    struct nlmsgerr answer;
  } reply;
  if (recv(socket, &reply, sizeof reply, 0) < (ssize_t)sizeof reply)
    err(2, "recv of an acknowledgement");
  if (reply.answer.error != 0)
    errx(2, "the kernel refused a route change: %s", strerror(-reply.answer.error));
}

void change_host_route(int socket, enum route_change change, uint32_t address) {
  struct route_request request = host_route_request(change, address);
  request.header.nlmsg_flags |= NLM_F_ACK;
  send_route_request(socket, &request);
  await_acknowledgement(socket);
}

void change_host_routes(int socket, enum route_change change, uint32_t first, size_t count) {
  struct route_request batch[BATCH_SIZE];
  size_t filled = 0;
  for (size_t i = 0; i < count; i++) {
    batch[filled++] = host_route_request(change, first + i);
    if (filled < BATCH_SIZE && i + 1 < count) continue;
    if (send(socket, batch, filled * sizeof *batch, 0) < 0) err(2, "send of routes");
    filled = 0;
  }
}

void add_background_routes(int socket) {
  progress("adding %d routes", BACKGROUND_ROUTES);
  change_host_routes(socket, ADD_ROUTE, background_first, BACKGROUND_ROUTES);
  expect_no_refusal(socket);
}

void expect_no_refusal(int socket) {
  _Alignas(struct nlmsghdr) char buffer[8192];
  for (;;) {
    ssize_t length = recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (length < 0 && errno == EAGAIN) return;
    if (length < 0) err(2, "recv of refusals");
    /* Without NLM_F_ACK the kernel answers refused requests only. */
    const struct nlmsghdr *header = (const struct nlmsghdr *)buffer;
    if (header->nlmsg_type == NLMSG_ERROR) {
      const struct nlmsgerr *answer = NLMSG_DATA(header);
      errx(2, "the kernel refused a route change: %s", strerror(-answer->error));
    }
  }
}
