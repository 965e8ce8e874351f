/* libbrotlienc: what a server sends. No code. */
#include <brotli/encode.h>
