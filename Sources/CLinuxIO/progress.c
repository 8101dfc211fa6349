// Apart from the others, because <linux/tcp.h> and <netinet/tcp.h> cannot be included together, and only the first knows
// of the bytes that were acknowledged.
#define _GNU_SOURCE
#include "CLinuxIO.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#endif

long long linuxio_acknowledged(int fd, long *unacknowledged) {
#ifdef __linux__
  struct tcp_info info;
  socklen_t length = sizeof info;
  memset(&info, 0, sizeof info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
  // A kernel before 4.2 does not say.
  if (length < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked) return -1;
  int queued = 0;
  if (ioctl(fd, SIOCOUTQ, &queued) != 0) return -1;
  *unacknowledged = queued;
  return info.tcpi_bytes_acked <= INT64_MAX ? (long long)info.tcpi_bytes_acked : -1;
#else
  (void)fd;
  (void)unacknowledged;
  return -1;
#endif
}
