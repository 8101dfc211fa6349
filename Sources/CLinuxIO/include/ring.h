#pragma once
// Batches of sends through io_uring: many sockets, one system call.
#include <stddef.h>
#include <stdint.h>

struct linuxio_ring;

/// A ring for one thread: the one that opens it. Proves with a send over a socket pair that it works, because a sandbox
/// may allow to open a ring and then refuse to use it. Nil, with -errno in `error`, where it does not.
struct linuxio_ring *_Nullable linuxio_ring_open(unsigned entries, int *_Nonnull error);
void linuxio_ring_close(struct linuxio_ring *_Nonnull ring);

/// Prepares a send that neither blocks nor raises SIGPIPE. The bytes must stay until ``linuxio_ring_submit`` returns.
/// At most `entries` between two submits.
void linuxio_ring_send(
    struct linuxio_ring *_Nonnull ring, int fd, const void *_Nonnull bytes, size_t count, uint32_t tag);

/// Performs what was prepared, in order, and returns when all of it is done. `results[tag]` is the number of bytes that
/// the kernel took (0: nothing for now), or -errno. Returns 0, or -errno where the ring itself failed: the results that
/// are not known then are INT32_MIN, and nothing was sent for them.
int linuxio_ring_submit(struct linuxio_ring *_Nonnull ring, int32_t *_Nonnull results);
