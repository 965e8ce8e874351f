/* libnl-route-3: the names of flags, states and types, for NETWATCH_DEBUG=netlink. No code. */
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/route.h>
#include <netlink/route/rtnl.h>
