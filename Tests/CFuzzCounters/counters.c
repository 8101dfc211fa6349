// After each input libFuzzer reads the counters of every edge that is instrumented, and clears them before the next. Here
// that is 300,000 of all modules together, of which a decoder reaches a few hundred: nine tenths of the time went there.
//
// So the counters' pages cannot be written at first, and the first write to one faults and is let through. Of the pages that
// were written, pieces in which a counter is not zero are told to libFuzzer, each as a module of its own, and it reads
// those alone. Nothing that is reached is missed.
#define _GNU_SOURCE
#include "CFuzzCounters.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
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

// The whole pages among the counters, and which of them were written.
static uint8_t *first, *last;
static size_t page_size, page_count;
static atomic_bool *is_written;

// Bytes of a piece, and how many there can be: libFuzzer has room for 4,096 modules.
enum { piece_size = 128, most_pieces = 4000 };
// Which pieces libFuzzer was told of.
static bool *is_added;

// What libFuzzer does about a fault that is none of ours.
static struct sigaction previous;
static bool catches;

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
    atomic_store(&is_written[page], true);
    if (mprotect(first + page * page_size, page_size, PROT_READ | PROT_WRITE) != 0) fail("mprotect");
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
  if (all || from >= to || (to - from) / piece_size > most_pieces) {
    add(counters, counters_end);
    return;
  }
  first = (uint8_t *)from;
  last = (uint8_t *)to;
  page_count = (size_t)(last - first) / page_size;
  is_written = calloc(page_count, sizeof *is_written);
  is_added = calloc(page_count * page_size / piece_size, sizeof *is_added);
  if (!is_written || !is_added) fail("calloc");
  // The two ends share their pages with other variables.
  add(counters, first);
  add(last, counters_end);
}

void fuzzcounters_watch(void) {
  if (!page_count || catches) return;
  // Not before the first input: libFuzzer has set its own handler by then, which ours takes the place of.
  catches = true;
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
  action.sa_sigaction = on_fault;
  if (sigaction(SIGSEGV, &action, &previous) != 0) fail("sigaction");
  memset(first, 0, (size_t)(last - first));
  if (mprotect(first, (size_t)(last - first), PROT_READ) != 0) fail("mprotect");
}

// A piece is as aligned as its size: pages are cut into pieces.
static bool is_reached(const uint8_t *piece) {
  const uint64_t *words = (const uint64_t *)piece;
  uint64_t found = 0;
  for (size_t word = 0; word < piece_size / sizeof *words; word++) found |= words[word];
  return found != 0;
}

void fuzzcounters_add_reached(void) {
  size_t per_page = page_count ? page_size / piece_size : 0;
  for (size_t page = 0; page < page_count; page++) {
    if (!atomic_load_explicit(&is_written[page], memory_order_relaxed)) continue;
    for (size_t piece = page * per_page; piece < (page + 1) * per_page; piece++) {
      uint8_t *start = first + piece * piece_size;
      if (is_added[piece] || !is_reached(start)) continue;
      is_added[piece] = true;
      add(start, start + piece_size);
    }
  }
}
