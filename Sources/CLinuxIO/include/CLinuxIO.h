#pragma once
// The few calls that Glibc's Swift overlay lacks. Those that can fail return their result, or -errno: errno itself is
// not safe to read from Swift, where a release or an allocation may stand between the call and the reading.
#include <stddef.h>

#include "load_generator.h"
#include "process.h"
#include "ring.h"
#include "scheduling.h"

/// Accepts one connection from a non-blocking listening socket; the new socket is non-blocking and close-on-exec.
int linuxio_accept(int listener);

/// A stream socket for listening: non-blocking, close-on-exec.
int linuxio_stream_socket(int family);

/// Never blocks and never raises SIGPIPE. 0 where the kernel takes nothing for now.
long linuxio_send(int fd, const void *bytes, size_t count);

/// Bytes of a TCP connection that its peer has acknowledged since the connection began, and how many of those that the
/// kernel was given it has not. -1 where the kernel does not say.
long long linuxio_acknowledged(int fd, long *unacknowledged);

/// A pair of ends for waking a poll: what is signalled at `ends[1]` is seen at `ends[0]`. On Linux both are one eventfd.
int linuxio_wakeup_open(int ends[2]);
void linuxio_wakeup_signal(const int ends[2]);
void linuxio_wakeup_close(const int ends[2]);

/// The epoll instance of this process that watches `fd`, as /proc tells it; -1 where it cannot be found.
int linuxio_epoll_watching(int fd);

/// Whether something has happened that the epoll instance would tell of. Takes nothing from it.
int linuxio_epoll_has_events(int epoll);

/// Bytes of the file at `path`, which is not followed where it is a link.
long long linuxio_file_size(const char *path);

/// When the open file was written last, in nanoseconds of its file system's clock; 0 where that cannot be told.
long long linuxio_last_write(int fd);

/// Names the calling thread; Linux takes at most 15 characters. For threads of Foundation, too: a thread that sets
/// `Thread.current.name` may read its handle while `start()` still writes it, and keeps its former name where it is first.
void linuxio_name_thread(const char *name);

/// 1 where the kernel says that a time server keeps the machine's clock; 0 where it does not, or does not say.
int linuxio_clock_is_synchronized(void);

/// Memory of the process that stands in the machine's and belongs to no file; 0 where that cannot be told.
long long linuxio_resident_bytes(void);

/// Bytes by the allocator's own account: what it holds of the system's memory, and how much of that is in use.
struct linuxio_heap {
  long long held;
  long long used;
};

/// Zeros where the allocator keeps no account. Takes the allocator's locks, and goes through what is free.
struct linuxio_heap linuxio_heap(void);

/// Gives back to the system what is free, page by page.
void linuxio_give_back_memory(void);
