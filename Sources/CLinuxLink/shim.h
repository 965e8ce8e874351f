/* The flags of one link by netdevice(7): ioctl is variadic, which Swift cannot call. No other code. */
#include <sys/ioctl.h>

/* Returns IFF_* of <linux/if.h>, or -1 with errno: ENODEV if there is no link with this index. */
static inline int netwatch_link_flags(int descriptor, int index) {
  /* The kernel's struct ifreq. It is spelled out, because <net/if.h> and <linux/if.h> define it differently. */
  struct {
    char name[16];
    union {
      int index;
      unsigned short flags;
      void *rest[3];
    } value;
  } link = {.value = {.index = index}};
  if (ioctl(descriptor, SIOCGIFNAME, &link) || ioctl(descriptor, SIOCGIFFLAGS, &link)) return -1;
  return link.value.flags;
}
