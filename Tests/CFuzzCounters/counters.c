// After each input libFuzzer reads the counters of every edge that is instrumented, and clears them before the next. Here
// that is 300,000 of all modules together, of which a decoder reaches a few hundred: nine tenths of the time went there.
//
// So the counters' pages cannot be written at first. The first write to one faults, is let through, and makes the page one
// that libFuzzer reads, as if another module had been loaded. Nothing that is reached is missed.
#define _GNU_SOURCE
#include "CFuzzCounters.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// A line of the table that stands beside the counters (LLVM, SanitizerCoverage, "PC-Table").
struct place {
  uintptr_t address;
  uintptr_t flags;
};

// The linker has objects call these instead of libFuzzer's own (`--wrap`).
void __wrap___sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
void __wrap___sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop);
void __real___sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
void __real___sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop);

static uint8_t *counters, *counters_end;
static const struct place *places;

enum { unreached, reached, added };
// One for each whole page from `first` on.
static _Atomic unsigned char *states;
static uint8_t *first, *last;
static size_t page_size;
static atomic_int has_news;

// What libFuzzer does about a fault that is none of ours.
static struct sigaction previous;
static int catches;

// All objects of a program say the same of it; what a library says of itself goes on.
void __wrap___sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop) {
  if (!counters) {
    counters = start;
    counters_end = stop;
  } else if (counters != start) {
    __real___sanitizer_cov_8bit_counters_init(start, stop);
  }
}

void __wrap___sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop) {
  if (!places) {
    places = (const struct place *)start;
  } else if ((const uintptr_t *)places != start) {
    __real___sanitizer_cov_pcs_init(start, stop);
  }
}

static void fail(const char *what) {
  perror(what);
  abort();
}

// libFuzzer takes each piece for a module of its own.
static void add(uint8_t *start, uint8_t *stop) {
  if (start >= stop) return;
  __real___sanitizer_cov_8bit_counters_init(start, stop);
  __real___sanitizer_cov_pcs_init(
    (const uintptr_t *)(places + (start - counters)), (const uintptr_t *)(places + (stop - counters)));
}

static void on_fault(int number, siginfo_t *info, void *context) {
  uint8_t *at = info->si_addr;
  if (at >= first && at < last) {
    size_t page = (size_t)(at - first) / page_size;
    if (mprotect(first + page * page_size, page_size, PROT_READ | PROT_WRITE) != 0) fail("mprotect");
    unsigned char expected = unreached;
    atomic_compare_exchange_strong(&states[page], &expected, reached);
    atomic_store(&has_news, 1);
  } else if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(number, info, context);
  } else {
    // The write is tried again, and ends the process.
    sigaction(number, &previous, NULL);
  }
}

void fuzzcounters_begin(int all) {
  page_size = (size_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = ((uintptr_t)counters + page_size - 1) / page_size * page_size;
  uintptr_t to = (uintptr_t)counters_end / page_size * page_size;
  if (all || from >= to) {
    add(counters, counters_end);
    return;
  }
  first = (uint8_t *)from;
  last = (uint8_t *)to;
  states = calloc((size_t)(last - first) / page_size, sizeof *states);
  if (!states) fail("calloc");
  // The two ends share their pages with other variables.
  add(counters, first);
  add(last, counters_end);
}

void fuzzcounters_watch(void) {
  if (!states || catches) return;
  // Not before the first input: libFuzzer has set its own handler by then, which ours takes the place of.
  catches = 1;
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
  action.sa_sigaction = on_fault;
  if (sigaction(SIGSEGV, &action, &previous) != 0) fail("sigaction");
  memset(first, 0, (size_t)(last - first));
  if (mprotect(first, (size_t)(last - first), PROT_READ) != 0) fail("mprotect");
}

void fuzzcounters_add_reached(void) {
  if (!atomic_exchange(&has_news, 0)) return;
  for (size_t page = 0; page < (size_t)(last - first) / page_size; page++) {
    if (atomic_load(&states[page]) != reached) continue;
    atomic_store(&states[page], added);
    add(first + page * page_size, first + (page + 1) * page_size);
  }
}
