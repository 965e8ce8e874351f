/* The kernel's routing messages, and ioctl for one link: ioctl is variadic, which Swift cannot call. No other code. */
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Where other packages have modules of the same headers, Swift may not find the names of the flags. */
static const int netwatch_netlink_socket = SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK;

static inline int netwatch_read_link(int descriptor, unsigned long request, struct ifreq *link) {
  return ioctl(descriptor, request, link);
}
