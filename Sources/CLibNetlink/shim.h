/* libnl-3, and the kernel's netlink vocabulary. No code. */
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

/* <linux/if.h> has IFF_LOWER_UP, <linux/rtnetlink.h> the messages; the rest are the attributes of addresses, links and rules,
   generic netlink, nl80211 and sock_diag. <linux/tcp.h> would define glibc's struct tcp_info again. */
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/fib_rules.h>
#include <linux/filter.h>
#include <linux/genetlink.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/inet_diag.h>
#include <linux/netconf.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/nl80211.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
