/* libnl-genl-3, and the vocabularies of generic netlink and of nl80211. No code. */
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include <linux/genetlink.h>
#include <linux/nl80211.h>
