/* What the benchmarks share: options, verdicts, time and order statistics. */
#ifndef NETWATCH_BENCH_HARNESS_H
#define NETWATCH_BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BACKGROUND_ROUTES = 100000 };

struct options {
  const char *netwatch; /* path of the program under test */
  const char *programs; /* folder of the compiled peers, and of everybody's stderr */
  int rounds;           /* 0: the benchmark's own default */
  bool host;            /* netwatch watches a host, whose name server falls silent */
  bool probe;           /* latency: netwatch with a probe of its own that hangs, and beside another's */
  bool cold;            /* latency: other memory is touched on the program's processor before each change */
  bool apart;           /* latency: the harness and each program on a processor of their own */
};

/* Each prints its table and targets, and returns whether every target was met. */
bool run_latency(const struct options *options);
bool run_probe_latency(const struct options *options); /* latency --probe */
bool run_formats(const struct options *options);
bool run_storm(const struct options *options);
bool run_footprint(const struct options *options);
bool run_activity(const struct options *options);
bool run_fanout(const struct options *options);
bool run_sockets(const struct options *options);
bool run_bridges(const struct options *options);

/* Prints PASS or FAIL beside the target; false where it was missed. */
bool verdict(bool met, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One line on stderr, so that stdout holds nothing but the table. */
void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t now_ns(void);
void sleep_ms(int milliseconds);

/* Both sort the values in place. */
double median(double *values, size_t count);
double percentile(double *values, size_t count, double fraction);

/* Of the ratios of each round's median to that of another program, the median; 0 stands for a round without any. */
double median_ratio(const double *round_medians, const double *others, int rounds);

void *allocate(size_t count, size_t size);

#endif
