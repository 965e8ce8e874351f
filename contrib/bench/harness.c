/* Runs one benchmark in the current network namespace, which must be a fresh one. */
#define _GNU_SOURCE

#include "harness.h"
#include "resolver.h"

#include <err.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIME_LIMIT_SECONDS = 900 };

static const struct {
  const char *name;
  bool (*run)(const struct options *);
} benchmarks[] = {
    {"latency", run_latency},
    {"formats", run_formats},
    {"storm", run_storm},
    {"footprint", run_footprint},
    {"activity", run_activity},
    {"fanout", run_fanout},
    {"sockets", run_sockets},
    {"bridges", run_bridges},
};

static void usage(void) {
  fprintf(stderr,
          "usage: harness latency|formats|storm|footprint|activity|fanout|sockets|bridges --netwatch PATH --programs FOLDER "
          "[--rounds N] [--apart | --cold] [--host] [--probe]\n");
  exit(64);
}

int main(int count, char **arguments) {
  static const struct option known[] = {
      {"netwatch", required_argument, NULL, 'n'},
      {"programs", required_argument, NULL, 'p'},
      {"rounds", required_argument, NULL, 'r'},
      {"apart", no_argument, NULL, 'a'},
      {"cold", no_argument, NULL, 'c'},
      {"host", no_argument, NULL, 'h'},
      {"probe", no_argument, NULL, 'b'},
      {0},
  };
  struct options options = {0};
  for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
    switch (option) {
      case 'n': options.netwatch = optarg; break;
      case 'p': options.programs = optarg; break;
      case 'r':
        options.rounds = atoi(optarg);
        if (options.rounds < 1 || options.rounds > 1000) usage();
        break;
      case 'a':
        options.apart = true;
        break;
      case 'c':
        options.cold = true;
        break;
      case 'h':
        options.host = true;
        break;
      case 'b':
        options.probe = true;
        break;
      default: usage();
    }
  }
  if (optind != count - 1 || !options.netwatch || !options.programs) usage();

  /* The peers die with the harness, so this bounds the whole run. */
  alarm(TIME_LIMIT_SECONDS);
  signal(SIGPIPE, SIG_IGN);
  if (options.host) resolver_open();
  for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++) {
    if (strcmp(arguments[optind], benchmarks[i].name) == 0)
      return benchmarks[i].run(&options) ? 0 : 1;
  }
  usage();
}
