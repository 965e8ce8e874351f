/* libzstd: bodies in zstd. No code. */
#include <zstd.h>
