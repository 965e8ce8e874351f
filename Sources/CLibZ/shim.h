/* zlib: bodies in gzip and deflate. No code. */
#include <zlib.h>
