/* libnl-route-3: the names of flags, states and types, for NETWATCH_DEBUG=netlink; for tests, its parsers. No code. */
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/geneve.h>
#include <netlink/route/link/ip6gre.h>
#include <netlink/route/link/ip6tnl.h>
#include <netlink/route/link/ip6vti.h>
#include <netlink/route/link/ipgre.h>
#include <netlink/route/link/ipip.h>
#include <netlink/route/link/ipvti.h>
#include <netlink/route/link/sit.h>
#include <netlink/route/link/vxlan.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/netconf.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <netlink/route/rtnl.h>
#include <netlink/route/rule.h>
