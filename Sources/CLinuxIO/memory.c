// What the allocator holds, and giving it back. glibc alone keeps such accounts; elsewhere there is nothing to do.
#define _GNU_SOURCE
#include "CLinuxIO.h"

#include <stdio.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#include <unistd.h>
#endif

long long linuxio_resident_bytes(void) {
#ifdef __GLIBC__
  // Pages: size resident shared text lib data dirty.
  FILE *file = fopen("/proc/self/statm", "re");
  if (!file) return 0;
  long long size = 0, resident = 0, shared = 0;
  int found = fscanf(file, "%lld %lld %lld", &size, &resident, &shared);
  fclose(file);
  return found == 3 ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
#else
  return 0;
#endif
}

struct linuxio_heap linuxio_heap(void) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  struct mallinfo2 info = mallinfo2();
  // What was mapped for one large block each stands in neither of the two sums of arenas.
  return (struct linuxio_heap){
    .held = (long long)(info.arena + info.hblkhd), .used = (long long)(info.uordblks + info.hblkhd)};
#else
  return (struct linuxio_heap){0, 0};
#endif
}

void linuxio_give_back_memory(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}
