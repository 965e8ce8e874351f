/* libbrotlidec: bodies in br. No code. */
#include <brotli/decode.h>
