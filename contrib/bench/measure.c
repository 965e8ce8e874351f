/* Verdicts, time and order statistics. */
#define _GNU_SOURCE

#include "harness.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

bool verdict(bool met, const char *format, ...) {
  printf("%s  ", met ? "PASS" : "FAIL");
  va_list values;
  va_start(values, format);
  vprintf(format, values);
  va_end(values);
  putchar('\n');
  return met;
}

void progress(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fputc('\n', stderr);
}

uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * UINT64_C(1000000000) + time.tv_nsec;
}

void sleep_ms(int milliseconds) {
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  nanosleep(&time, NULL);
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

double percentile(double *values, size_t count, double fraction) {
  if (count == 0) return 0;
  qsort(values, count, sizeof *values, compare);
  return values[(size_t)(fraction * (count - 1) + 0.5)];
}

double median(double *values, size_t count) {
  if (count == 0) return 0;
  qsort(values, count, sizeof *values, compare);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double median_ratio(const double *round_medians, const double *others, int rounds) {
  double ratios[rounds];
  size_t count = 0;
  for (int round = 0; round < rounds; round++) {
    if (round_medians[round] > 0 && others[round] > 0) ratios[count++] = round_medians[round] / others[round];
  }
  return median(ratios, count);
}

void *allocate(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (memory == NULL) err(2, "calloc");
  return memory;
}
