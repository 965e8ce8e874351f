/* The network that the peers watch, and the changes made to it. */
#ifndef NETWATCH_BENCH_ROUTES_H
#define NETWATCH_BENCH_ROUTES_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

enum route_change { ADD_ROUTE, DELETE_ROUTE };

/* All attributes are 32 bits wide. */
struct route_request {
  struct nlmsghdr header;
  struct rtmsg route;
  struct {
    struct rtattr header;
    uint32_t value;
  } attributes[3];
};

/* Brings up lo and a pair of veths, v0 with 10.0.0.1/24. No default route. */
void set_up_network(void);

int open_route_socket(void);

struct route_request default_route_request(enum route_change change);
void send_route_request(int socket, const struct route_request *request);

/* A route to one address (host byte order), acknowledged before this returns. */
void change_host_route(int socket, enum route_change change, uint32_t address);

/* The same for many addresses in a row, with many requests in one system call. */
void change_host_routes(int socket, enum route_change change, uint32_t first, size_t count);

/* BACKGROUND_ROUTES host routes outside 192.0.2.0/24. */
void add_background_routes(int socket);

/* Ends the program if the kernel refused any change since the last call. */
void expect_no_refusal(int socket);

#endif
