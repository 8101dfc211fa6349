#pragma once
// epoll, timers, clocks, connecting and pinning: what the load generator needs and Glibc's Swift overlay lacks. What
// can fail returns its result, or -errno.
#include <stddef.h>
#include <stdint.h>

/// Pins a process's threads-to-be and its main thread to these cores; pid 0: the calling thread. 0 or -errno.
int linuxio_pin(int pid, const int *cores, int count);

/// Asks the scheduler for short turns for the calling thread: when it wakes, it does not wait until a thread that has
/// long ones gives up the core. Its share of the processor stays what it was. 0, or -errno where the kernel does not
/// know of it (before Linux 6.12 it is accepted and changes nothing).
int linuxio_take_short_turns(void);

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
