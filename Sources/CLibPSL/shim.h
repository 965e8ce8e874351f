/* libpsl: the list of public suffixes. No code. */
#include <libpsl.h>
