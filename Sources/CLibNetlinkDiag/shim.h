/* libnl-idiag-3, and the vocabulary of sock_diag. No code. <linux/tcp.h> would define glibc's struct tcp_info again. */
#include <netlink/idiag/idiagnl.h>

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
