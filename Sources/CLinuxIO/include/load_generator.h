#pragma once
// The load generator's part, of which the server uses nothing: epoll, timers, clocks, connecting, stamps and pinning, as
// far as Glibc's Swift overlay lacks them. What can fail returns its result, or -errno.
#include <stddef.h>
#include <stdint.h>

/// Pins a process's threads-to-be and its main thread to these cores; pid 0: the calling thread. 0 or -errno.
int linuxio_pin(int pid, const int *cores, int count);

static const uint32_t LINUXIO_READABLE = 0x001;
static const uint32_t LINUXIO_WRITABLE = 0x004;

struct linuxio_event {
  uint64_t tag;
  uint32_t events;
  uint32_t unused;
};

int linuxio_epoll_open(void);
int linuxio_epoll_add(int poll, int fd, uint32_t events, uint64_t tag);
int linuxio_epoll_change(int poll, int fd, uint32_t events, uint64_t tag);
int linuxio_epoll_remove(int poll, int fd);
/// Level-triggered. How many events came, at most 1024; 0 after a signal. A negative timeout waits for ever.
int linuxio_epoll_wait(int poll, struct linuxio_event *events, int capacity, int milliseconds);

/// A timer on CLOCK_MONOTONIC that an epoll can wait for.
int linuxio_timer_open(void);
/// Readable from this time on (ns); 0: never.
int linuxio_timer_set(int timer, uint64_t at);

/// CLOCK_MONOTONIC and CLOCK_PROCESS_CPUTIME_ID in nanoseconds.
uint64_t linuxio_now(void);
uint64_t linuxio_process_cpu(void);

/// What there is, at most so many bytes. 0 at the end, -EAGAIN where nothing is there.
long linuxio_receive(int fd, void *bytes, size_t count);

/// Has the kernel stamp what arrives at the socket, for ``linuxio_receive_stamped``. 0, or -errno where it cannot.
///
/// As long as one socket of the machine asks for it, the kernel stamps every packet of the machine.
int linuxio_stamp_arrivals(int fd);
/// As ``linuxio_receive``. `stamp` is when the newest segment of what was read came to the socket, in nanoseconds of
/// CLOCK_REALTIME; 0 where the kernel did not say. A segment that the kernel has joined to an older one gives both its
/// stamp, so that what is read in part may bear the stamp of what comes after it.
long linuxio_receive_stamped(int fd, void *bytes, size_t count, uint64_t *stamp);
/// What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, in nanoseconds. Time servers slow down or speed up both alike, so
/// that it changes by steps alone.
int64_t linuxio_realtime_lead(void);

/// A socket address of `capacity` ≥ 28 bytes for a name or a number; IPv4 first. Its length, or -1.
int linuxio_resolve(const char *host, const char *port, void *address, int capacity);
/// A non-blocking TCP socket without delay that is about to be connected, or -errno.
/// - source: IPv4 address in host byte order to connect from, or 0. receiveBuffer: SO_RCVBUF, or 0 for the system's.
int linuxio_connect(const void *address, int length, uint32_t source, int receiveBuffer);
/// Of a connect that is over: 0 or -errno.
int linuxio_socket_error(int fd);
/// A non-blocking listener on 127.0.0.1 or, where `everywhere`, on all addresses. `port` 0: any; it is set.
int linuxio_listen(int everywhere, uint16_t *port, int backlog);
void linuxio_no_delay(int fd);
/// Raises the limit of open files to the hard limit; returns it.
long linuxio_raise_file_limit(void);
void linuxio_close(int fd);

/// Sends the same bytes on each of the descriptors. Stops at the first that does not take all of them.
/// How many took them: `count` when all did.
size_t linuxio_send_each(const int *fds, size_t count, const void *bytes, size_t size);
