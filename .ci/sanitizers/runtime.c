// Tells the thread sanitizer what Swift's runtime does and the sanitizer does not see, on Linux. This library is loaded before
// those that it speaks for (LD_PRELOAD).
//
// The standard library's Mutex, where it has to wait. Its quick way, an atomic exchange that succeeds at once, is compiled into
// whoever uses it, and the sanitizer sees it. The slow way stands in libswiftSynchronization.so, which is not compiled for the
// sanitizer: it would take all that a contended Mutex guards for races. The names are those of the standard library's
// interface, which programs are linked to.
//
// A continuation that was resumed before its task has come to await it. The runtime releases the task where it is resumed, and
// acquires it where it is started again. Here it never slept and goes on at once, by an atomic in libswift_Concurrency.so, and
// nothing acquires: the sanitizer would take all that an answer consists of for races.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// Of the sanitizer's runtime; null in programs that were built without it, which inherit the variable.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

SWIFT void slow_lock(uint32_t thread, SELF handle) __asm__(LOCK);
SWIFT _Bool slow_try_lock(SELF handle) __asm__(TRY_LOCK);
SWIFT void slow_unlock(SELF handle) __asm__(UNLOCK);

static void *real(const char *name) {
  void *symbol = dlsym(RTLD_NEXT, name);
  if (!symbol) {
    fprintf(stderr, "%s: the standard library has it no more\n", name);
    abort();
  }
  return symbol;
}

SWIFT void slow_lock(uint32_t thread, SELF handle) {
  static SWIFT void (*lock)(uint32_t, SELF);
  if (!lock) lock = real(LOCK);
  lock(thread, handle);
  if (__tsan_acquire) __tsan_acquire(handle);
}

SWIFT _Bool slow_try_lock(SELF handle) {
  static SWIFT _Bool (*try_lock)(SELF);
  if (!try_lock) try_lock = real(TRY_LOCK);
  _Bool is_locked = try_lock(handle);
  if (is_locked && __tsan_acquire) __tsan_acquire(handle);
  return is_locked;
}

SWIFT void slow_unlock(SELF handle) {
  static SWIFT void (*unlock)(SELF);
  if (!unlock) unlock = real(UNLOCK);
  if (__tsan_release) __tsan_release(handle);
  unlock(handle);
}

// Of Swift's runtime; null in programs that are none of Swift's.
extern void *swift_task_getCurrent(void) __attribute__((swiftcall, weak));

#define TASKS __attribute__((swiftasynccall))

TASKS void swift_continuation_await(void *continuation) {
  static TASKS void (*await)(void *);
  if (!await) await = real("swift_continuation_await");
  if (__tsan_acquire && swift_task_getCurrent) __tsan_acquire(swift_task_getCurrent());
  __attribute__((musttail)) return await(continuation);
}
