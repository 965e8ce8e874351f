/* c-ares: DNS and the hosts file, without blocking. No code. */
#include <ares.h>
