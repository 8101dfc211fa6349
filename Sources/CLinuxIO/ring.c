#define _GNU_SOURCE
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#if defined(IORING_FEAT_SINGLE_MMAP) && defined(IORING_FEAT_NODROP) && defined(__NR_io_uring_setup)
#define HAS_RING 1
#endif
#endif
#endif

#ifdef HAS_RING

struct linuxio_ring {
  int fd;
  unsigned entries, prepared;
  unsigned *sq_tail, sq_mask, *sq_array;
  unsigned *cq_head, *cq_tail, cq_mask;
  struct io_uring_cqe *cqes;
  struct io_uring_sqe *sqes;
  void *rings;
  size_t rings_bytes, sqes_bytes;
};

static int setup(unsigned entries, struct io_uring_params *params) {
#if defined(IORING_SETUP_SINGLE_ISSUER) && defined(IORING_SETUP_DEFER_TASKRUN)
  memset(params, 0, sizeof *params);
  params->flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  int fd = (int)syscall(__NR_io_uring_setup, entries, params);
  if (fd >= 0 || errno != EINVAL) return fd;
#endif
  memset(params, 0, sizeof *params);
  return (int)syscall(__NR_io_uring_setup, entries, params);
}

static int map(struct linuxio_ring *ring, const struct io_uring_params *params) {
  size_t sq = params->sq_off.array + params->sq_entries * sizeof(unsigned);
  size_t cq = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
  ring->rings_bytes = sq > cq ? sq : cq;
  ring->sqes_bytes = params->sq_entries * sizeof(struct io_uring_sqe);
  int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
  ring->rings = mmap(NULL, ring->rings_bytes, protection, flags, ring->fd, IORING_OFF_SQ_RING);
  if (ring->rings == MAP_FAILED) return -errno;
  void *sqes = mmap(NULL, ring->sqes_bytes, protection, flags, ring->fd, IORING_OFF_SQES);
  if (sqes == MAP_FAILED) return -errno;
  char *base = ring->rings;
  ring->sqes = sqes;
  ring->sq_tail = (unsigned *)(base + params->sq_off.tail);
  ring->sq_mask = *(unsigned *)(base + params->sq_off.ring_mask);
  ring->sq_array = (unsigned *)(base + params->sq_off.array);
  ring->cq_head = (unsigned *)(base + params->cq_off.head);
  ring->cq_tail = (unsigned *)(base + params->cq_off.tail);
  ring->cq_mask = *(unsigned *)(base + params->cq_off.ring_mask);
  ring->cqes = (struct io_uring_cqe *)(base + params->cq_off.cqes);
  return 0;
}

/// One byte there and back.
static int prove(struct linuxio_ring *ring) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
  char byte = 42, got = 0;
  int32_t result = 0;
  linuxio_ring_send(ring, ends[0], &byte, 1, 0);
  int failed = linuxio_ring_submit(ring, &result);
  if (failed == 0 && result != 1) failed = result < 0 ? result : -EIO;
  if (failed == 0 && (read(ends[1], &got, 1) != 1 || got != byte)) failed = -EIO;
  close(ends[0]);
  close(ends[1]);
  return failed;
}

struct linuxio_ring *linuxio_ring_open(unsigned entries, int *error) {
  struct linuxio_ring *ring = calloc(1, sizeof *ring);
  if (ring == NULL) {
    *error = -ENOMEM;
    return NULL;
  }
  struct io_uring_params params;
  ring->entries = entries;
  ring->fd = setup(entries, &params);
  if (ring->fd < 0) {
    *error = -errno;
    free(ring);
    return NULL;
  }
  unsigned needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP;
  *error = (params.features & needed) != needed ? -ENOSYS : map(ring, &params);
  if (*error == 0) *error = prove(ring);
  if (*error == 0) return ring;
  linuxio_ring_close(ring);
  return NULL;
}

void linuxio_ring_close(struct linuxio_ring *ring) {
  if (ring->sqes != NULL) munmap(ring->sqes, ring->sqes_bytes);
  if (ring->rings != NULL && ring->rings != MAP_FAILED) munmap(ring->rings, ring->rings_bytes);
  close(ring->fd);
  free(ring);
}

void linuxio_ring_send(struct linuxio_ring *ring, int fd, const void *bytes, size_t count, uint32_t tag) {
  unsigned tail = *ring->sq_tail;
  unsigned index = (tail + ring->prepared) & ring->sq_mask;
  struct io_uring_sqe *sqe = &ring->sqes[index];
  memset(sqe, 0, sizeof *sqe);
  sqe->opcode = IORING_OP_SEND;
  sqe->fd = fd;
  sqe->addr = (uint64_t)(uintptr_t)bytes;
  sqe->len = count > 0x7ffff000 ? 0x7ffff000 : (uint32_t)count;
  // Without it, a full socket would leave the request waiting inside the kernel, with our buffer.
  sqe->msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  sqe->user_data = tag;
  ring->sq_array[index] = index;
  ring->prepared++;
}

static unsigned reap(struct linuxio_ring *ring, int32_t *results) {
  unsigned head = *ring->cq_head;
  unsigned tail = __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE);
  unsigned count = tail - head;
  for (; head != tail; head++) {
    const struct io_uring_cqe *cqe = &ring->cqes[head & ring->cq_mask];
    int32_t result = cqe->res;
    results[cqe->user_data] = result == -EAGAIN || result == -EINTR ? 0 : result;
  }
  __atomic_store_n(ring->cq_head, head, __ATOMIC_RELEASE);
  return count;
}

int linuxio_ring_submit(struct linuxio_ring *ring, int32_t *results) {
  unsigned total = ring->prepared, submitted = 0, done = 0;
  ring->prepared = 0;
  for (unsigned tag = 0; tag < total; tag++) results[tag] = INT32_MIN;
  __atomic_store_n(ring->sq_tail, *ring->sq_tail + total, __ATOMIC_RELEASE);
  while (done < total) {
    // Sends that may not wait are done when the kernel has read them; to wait for completions is the exception.
    unsigned waits = submitted == total ? total - done : 0;
    long taken = syscall(
        __NR_io_uring_enter, ring->fd, total - submitted, waits, waits > 0 ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
    if (taken < 0) {
      if (errno == EINTR || errno == EAGAIN || errno == EBUSY) {
        done += reap(ring, results);
        continue;
      }
      int error = errno;
      reap(ring, results);
      return -error;
    }
    submitted += (unsigned)taken;
    done += reap(ring, results);
  }
  return 0;
}

#else

struct linuxio_ring {
  int unused;
};

struct linuxio_ring *linuxio_ring_open(unsigned entries, int *error) {
  (void)entries;
  *error = -ENOSYS;
  return NULL;
}

void linuxio_ring_close(struct linuxio_ring *ring) { (void)ring; }

void linuxio_ring_send(struct linuxio_ring *ring, int fd, const void *bytes, size_t count, uint32_t tag) {
  (void)ring, (void)fd, (void)bytes, (void)count, (void)tag;
}

int linuxio_ring_submit(struct linuxio_ring *ring, int32_t *results) {
  (void)ring, (void)results;
  return -ENOSYS;
}

#endif
