/* A name server for --host: it answers while a program starts, and says nothing while the program is measured. */
#ifndef NETWATCH_BENCH_RESOLVER_H
#define NETWATCH_BENCH_RESOLVER_H

/* The name that it knows, which leads out by the default route. */
extern const char resolver_host[];

/* Takes port 53 of the loopback. */
void resolver_open(void);

/* Waits until the other descriptor can be read, and answers questions meanwhile. Nothing else ever does: what is asked
 * later stays in the socket. */
void resolver_serve_until_readable(int other, int timeout_ms);

#endif
