#define _GNU_SOURCE
#include "scheduling.h"

#include <errno.h>
#ifdef __linux__
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// As the kernel has it since 4.20: glibc brings neither the structure nor the call.
struct scheduling {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

int linuxio_take_short_turns(void) {
  struct scheduling now = {.size = sizeof now};
  if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0) return -errno;
  if (now.policy != SCHED_OTHER) return -EINVAL;
  // The shortest that the scheduler takes, in nanoseconds.
  now.runtime = 100 * 1000;
  return syscall(SYS_sched_setattr, 0, &now, 0) == 0 ? 0 : -errno;
}

void linuxio_step_back(int by) { (void)!nice(by); }

#else

void linuxio_step_back(int by) { (void)by; }

int linuxio_take_short_turns(void) { return -ENOSYS; }

#endif
