#define _GNU_SOURCE
#include "CLinuxIO.h"
#include "load_generator.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/net_tstamp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#endif

static uint64_t nanoseconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t linuxio_now(void) { return nanoseconds(CLOCK_MONOTONIC); }

uint64_t linuxio_process_cpu(void) { return nanoseconds(CLOCK_PROCESS_CPUTIME_ID); }

#ifdef __linux__

int linuxio_pin(int pid, const int *cores, int count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int place = 0; place < count; place++) {
    if (cores[place] < 0 || cores[place] >= CPU_SETSIZE) return -EINVAL;
    CPU_SET(cores[place], &set);
  }
  return sched_setaffinity(pid, sizeof set, &set) == 0 ? 0 : -errno;
}

int linuxio_epoll_open(void) {
  int poll = epoll_create1(EPOLL_CLOEXEC);
  return poll >= 0 ? poll : -errno;
}

static int control(int poll, int operation, int fd, uint32_t events, uint64_t tag) {
  struct epoll_event event = {.events = events, .data.u64 = tag};
  return epoll_ctl(poll, operation, fd, &event) == 0 ? 0 : -errno;
}

int linuxio_epoll_add(int poll, int fd, uint32_t events, uint64_t tag) {
  return control(poll, EPOLL_CTL_ADD, fd, events, tag);
}

int linuxio_epoll_change(int poll, int fd, uint32_t events, uint64_t tag) {
  return control(poll, EPOLL_CTL_MOD, fd, events, tag);
}

int linuxio_epoll_remove(int poll, int fd) { return control(poll, EPOLL_CTL_DEL, fd, 0, 0); }

int linuxio_epoll_wait(int poll, struct linuxio_event *events, int capacity, int milliseconds) {
  struct epoll_event found[1024];
  int count = epoll_wait(poll, found, capacity < 1024 ? capacity : 1024, milliseconds);
  if (count < 0) return errno == EINTR ? 0 : -errno;
  for (int place = 0; place < count; place++) {
    events[place].tag = found[place].data.u64;
    events[place].events = found[place].events;
  }
  return count;
}

int linuxio_timer_open(void) {
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  return timer >= 0 ? timer : -errno;
}

int linuxio_timer_set(int timer, uint64_t at) {
  struct itimerspec when = {{0, 0}, {(time_t)(at / 1000000000u), (long)(at % 1000000000u)}};
  return timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) == 0 ? 0 : -errno;
}

#else

int linuxio_pin(int pid, const int *cores, int count) { return -ENOSYS; }
int linuxio_epoll_open(void) { return -ENOSYS; }
int linuxio_epoll_add(int poll, int fd, uint32_t events, uint64_t tag) { return -ENOSYS; }
int linuxio_epoll_change(int poll, int fd, uint32_t events, uint64_t tag) { return -ENOSYS; }
int linuxio_epoll_remove(int poll, int fd) { return -ENOSYS; }
int linuxio_epoll_wait(int poll, struct linuxio_event *events, int capacity, int milliseconds) { return -ENOSYS; }
int linuxio_timer_open(void) { return -ENOSYS; }
int linuxio_timer_set(int timer, uint64_t at) { return -ENOSYS; }

#endif

long linuxio_receive(int fd, void *bytes, size_t count) {
  ssize_t received = recv(fd, bytes, count, MSG_DONTWAIT);
  return received >= 0 ? received : -errno;
}

#ifdef __linux__

int linuxio_stamp_arrivals(int fd) {
  int what = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
  return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &what, sizeof what) == 0 ? 0 : -errno;
}

long linuxio_receive_stamped(int fd, void *bytes, size_t count, uint64_t *stamp) {
  *stamp = 0;
  // Room for three stamps, of which software's is the first, and for their packet's number.
  union {
    char bytes[256];
    struct cmsghdr aligned;
  } control;
  struct iovec part = {bytes, count};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t received = recvmsg(fd, &message, MSG_DONTWAIT);
  if (received < 0) return -errno;
  for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head != NULL; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SO_TIMESTAMPING) continue;
    struct timespec software;
    memcpy(&software, CMSG_DATA(head), sizeof software);
    *stamp = (uint64_t)software.tv_sec * 1000000000u + (uint64_t)software.tv_nsec;
  }
  return received;
}

#else

int linuxio_stamp_arrivals(int fd) { return -ENOSYS; }

long linuxio_receive_stamped(int fd, void *bytes, size_t count, uint64_t *stamp) {
  *stamp = 0;
  return linuxio_receive(fd, bytes, count);
}

#endif

int64_t linuxio_realtime_lead(void) {
  // The reading that took least time is nearest to the truth: whoever was interrupted between the clocks is out.
  uint64_t least = UINT64_MAX;
  int64_t lead = 0;
  for (int attempt = 0; attempt < 5; attempt++) {
    uint64_t before = linuxio_now();
    uint64_t wall = nanoseconds(CLOCK_REALTIME);
    uint64_t after = linuxio_now();
    if (after - before >= least) continue;
    least = after - before;
    lead = (int64_t)(wall - (before + least / 2));
  }
  return lead;
}

int linuxio_resolve(const char *host, const char *port, void *address, int capacity) {
  struct addrinfo wish = {.ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  if (getaddrinfo(host, port, &wish, &found) != 0 || found == NULL) return -1;
  struct addrinfo *best = found;
  for (struct addrinfo *next = found; next != NULL; next = next->ai_next) {
    if (next->ai_family == AF_INET) {
      best = next;
      break;
    }
  }
  int length = (int)best->ai_addrlen;
  if (length <= capacity) memcpy(address, best->ai_addr, best->ai_addrlen);
  freeaddrinfo(found);
  return length <= capacity ? length : -1;
}

void linuxio_no_delay(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void linuxio_close(int fd) { close(fd); }

static int failed(int fd) {
  int error = errno;
  close(fd);
  return -error;
}

int linuxio_connect(const void *address, int length, uint32_t source, int receiveBuffer) {
  // Copied, because the caller's bytes need not be aligned for a socket address.
  struct sockaddr_storage target;
  if (length < 0 || (size_t)length > sizeof target) return -EINVAL;
  memcpy(&target, address, (size_t)length);
  int fd = linuxio_stream_socket(target.ss_family);
  if (fd < 0) return fd;
  linuxio_no_delay(fd);
  if (receiveBuffer > 0) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, sizeof receiveBuffer);
  if (source != 0 && target.ss_family == AF_INET) {
#ifdef __linux__
    // The port is chosen at connect(): it has to be unlike others' of the same pair of addresses only.
    int on = 1;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
#endif
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
    if (bind(fd, (struct sockaddr *)&from, sizeof from) != 0) return failed(fd);
  }
  if (connect(fd, (struct sockaddr *)&target, (socklen_t)length) != 0 && errno != EINPROGRESS) return failed(fd);
  return fd;
}

int linuxio_socket_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return -errno;
  return -error;
}

int linuxio_listen(int everywhere, uint16_t *port, int backlog) {
  int fd = linuxio_stream_socket(AF_INET);
  if (fd < 0) return fd;
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {
      .sin_family = AF_INET,
      .sin_port = htons(*port),
      .sin_addr.s_addr = htonl(everywhere ? INADDR_ANY : INADDR_LOOPBACK),
  };
  if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) return failed(fd);
  if (listen(fd, backlog) != 0) return failed(fd);
  socklen_t size = sizeof address;
  if (getsockname(fd, (struct sockaddr *)&address, &size) != 0) return failed(fd);
  *port = ntohs(address.sin_port);
  return fd;
}

long linuxio_raise_file_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -errno;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return -errno;
  return (long)limit.rlim_cur;
}

size_t linuxio_send_each(const int *fds, size_t count, const void *bytes, size_t size) {
#ifdef __linux__
  int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
#else
  int flags = MSG_DONTWAIT;
#endif
  for (size_t place = 0; place < count; place++) {
    if (send(fds[place], bytes, size, flags) != (ssize_t)size) return place;
  }
  return count;
}
