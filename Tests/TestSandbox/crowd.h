int crowd(int argc, char **argv);
int stopwatch(int argc, char **argv);
