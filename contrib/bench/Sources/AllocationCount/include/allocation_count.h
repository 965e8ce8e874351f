/* Counts what a thread allocates: malloc and its relatives are ours, and hand on to glibc's. */
#ifndef NETWATCH_BENCH_ALLOCATION_COUNT_H
#define NETWATCH_BENCH_ALLOCATION_COUNT_H

#include <stdint.h>

/* How often the calling thread has asked for memory, since it began. */
uint64_t allocation_count(void);

#endif
