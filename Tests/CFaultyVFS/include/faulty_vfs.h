#ifndef FAULTY_VFS_H
#define FAULTY_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A disk in memory on which SQLite keeps its files, and that does to them what disks do: it gets full, refuses a write
// or a sync, and forgets what was not synced when the power goes.
//
// Each file is two images: what the process sees, and what has reached the disk. Between them stand the writes since the
// last sync, in their order. A sync that fails loses those for good, as Linux does: the process still sees them.
//
// SQLite finds a disk by the path of its files, "/faulty-disk/NUMBER/NAME". Each disk is of one thread; different disks
// may be of different ones.
typedef struct faulty_disk faulty_disk;

faulty_disk *faulty_disk_create(void);

// A disk with what is on this one now, synced or not: as another process finds it when this one was killed. Everything
// counts as synced that was.
faulty_disk *faulty_disk_copy(faulty_disk *disk);

// A disk with what is left when the power goes: what was synced, and of the rest what the seed says, which may be none,
// all, the first writes, any of them, or a torn one.
faulty_disk *faulty_disk_cut(faulty_disk *disk, uint64_t seed);

// Takes nothing any more and gives nothing back, so that what still holds it can be closed and leaves no trace.
void faulty_disk_kill(faulty_disk *disk);

// The files must be closed.
void faulty_disk_destroy(faulty_disk *disk);

uint64_t faulty_disk_number(faulty_disk *disk);

// What goes wrong.
void faulty_disk_set_full(faulty_disk *disk, bool full);
// The write, or sync, after so many others fails with EIO; negative: none.
void faulty_disk_fail_write(faulty_disk *disk, int64_t after);
void faulty_disk_fail_sync(faulty_disk *disk, int64_t after);
// Says that it synced, and did not: how a test shows that it would notice.
void faulty_disk_set_lying(faulty_disk *disk, bool lying);
uint64_t faulty_disk_write_count(faulty_disk *disk);
uint64_t faulty_disk_sync_count(faulty_disk *disk);

// Files beside SQLite's own.

// Bytes of the file, or -1 where there is none. Copies as many as there is room for.
int64_t faulty_disk_read(faulty_disk *disk, const char *name, void *bytes, size_t room);
// Writes a new file, syncs it, renames it and syncs the folder. False where one of these failed.
bool faulty_disk_replace(faulty_disk *disk, const char *name, const void *bytes, size_t count);
// Without a sync, from the first byte on.
void faulty_disk_overwrite(faulty_disk *disk, const char *name, const void *bytes, size_t count);
void faulty_disk_touch(faulty_disk *disk, const char *name);

#endif
