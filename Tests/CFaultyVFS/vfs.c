#include "disk.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The way of SQLite's calls to a disk. Whatever is none of a disk's goes on to the VFS that was the default before.

typedef struct {
  sqlite3_file base;
  faulty_disk *disk;
  file_node *file;
  int lock;
  // Whether the folder is to be synced with the first sync, as for journals that are made anew.
  bool syncs_folder;
  bool uses_shm;
  int shm_shared;
  int shm_exclusive;
} disk_file;

static sqlite3_vfs *before;
static sqlite3_vfs vfs;
static pthread_once_t registered = PTHREAD_ONCE_INIT;

static disk_file *of(sqlite3_file *file) { return (disk_file *)file; }

static int code(disk_result result, int error) {
  switch (result) {
  case DISK_OK: return SQLITE_OK;
  case DISK_FULL: return SQLITE_FULL;
  case DISK_ERROR: break;
  }
  errno = EIO;
  return error;
}

// MARK: Files

static int file_close(sqlite3_file *file) {
  of(file)->base.pMethods = NULL;
  return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
  const image *seen = &of(file)->file->seen;
  if (of(file)->disk->is_dead) return SQLITE_IOERR_READ;
  size_t from = (size_t)offset < seen->count ? (size_t)offset : seen->count;
  size_t there = seen->count - from < (size_t)count ? seen->count - from : (size_t)count;
  if (there) memcpy(bytes, seen->bytes + from, there);
  if (there == (size_t)count) return SQLITE_OK;
  memset((char *)bytes + there, 0, (size_t)count - there);
  return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  return code(
    disk_write(of(file)->disk, of(file)->file, (size_t)offset, bytes, (size_t)count), SQLITE_IOERR_WRITE);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
  return code(disk_truncate(of(file)->disk, of(file)->file, (size_t)size), SQLITE_IOERR_TRUNCATE);
}

static int file_sync(sqlite3_file *file, int flags) {
  (void)flags;
  int result = code(disk_sync(of(file)->disk, of(file)->file), SQLITE_IOERR_FSYNC);
  if (result == SQLITE_OK && of(file)->syncs_folder) {
    disk_sync_folder(of(file)->disk);
    of(file)->syncs_folder = false;
  }
  return result;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
  *size = (sqlite3_int64)of(file)->file->seen.count;
  return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int wanted) {
  disk_file *own = of(file);
  file_node *node = own->file;
  if (own->lock >= wanted) return SQLITE_OK;
  switch (wanted) {
  case SQLITE_LOCK_SHARED:
    if (node->pending || node->exclusive) return SQLITE_BUSY;
    node->shared++;
    break;
  case SQLITE_LOCK_RESERVED:
    if (node->reserved) return SQLITE_BUSY;
    node->reserved = true;
    break;
  case SQLITE_LOCK_EXCLUSIVE:
    if (node->reserved && own->lock < SQLITE_LOCK_RESERVED) return SQLITE_BUSY;
    node->pending = true;
    if (own->lock < SQLITE_LOCK_PENDING) own->lock = SQLITE_LOCK_PENDING;
    if (node->shared > 1) return SQLITE_BUSY;
    node->reserved = node->exclusive = true;
    break;
  }
  own->lock = wanted;
  return SQLITE_OK;
}

static int file_unlock(sqlite3_file *file, int wanted) {
  disk_file *own = of(file);
  file_node *node = own->file;
  if (own->lock <= wanted) return SQLITE_OK;
  if (own->lock >= SQLITE_LOCK_RESERVED) node->reserved = false;
  if (own->lock >= SQLITE_LOCK_PENDING) node->pending = node->exclusive = false;
  if (wanted == SQLITE_LOCK_NONE && own->lock >= SQLITE_LOCK_SHARED) node->shared--;
  own->lock = wanted;
  return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *file, int *result) {
  *result = of(file)->file->reserved;
  return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
  (void)file;
  (void)operation;
  (void)argument;
  return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file) {
  (void)file;
  return 512;
}

static int file_traits(sqlite3_file *file) {
  (void)file;
  return 0;
}

// MARK: The index of the WAL

static int shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **memory) {
  disk_file *own = of(file);
  if (!own->uses_shm) {
    own->uses_shm = true;
    own->file->shm_users++;
  }
  *memory = NULL;
  if (region >= FAULTY_SHM_REGIONS) return SQLITE_IOERR_SHMMAP;
  if (!own->file->regions[region] && extend) {
    own->file->regions[region] = calloc(1, (size_t)size);
    if (!own->file->regions[region]) return SQLITE_NOMEM;
  }
  *memory = own->file->regions[region];
  return SQLITE_OK;
}

static int shm_lock(sqlite3_file *file, int first, int count, int flags) {
  disk_file *own = of(file);
  file_node *node = own->file;
  bool is_shared = flags & SQLITE_SHM_SHARED;
  for (int slot = first; slot < first + count && flags & SQLITE_SHM_LOCK; slot++) {
    int others = node->shm_shared[slot] - (own->shm_shared >> slot & 1);
    bool is_taken = node->shm_exclusive[slot] && !(own->shm_exclusive >> slot & 1);
    if (is_taken || (!is_shared && others > 0)) return SQLITE_BUSY;
  }
  for (int slot = first; slot < first + count; slot++) {
    int bit = 1 << slot;
    if (flags & SQLITE_SHM_UNLOCK) {
      if (own->shm_shared & bit) node->shm_shared[slot]--;
      if (own->shm_exclusive & bit) node->shm_exclusive[slot] = false;
      own->shm_shared &= ~bit;
      own->shm_exclusive &= ~bit;
    } else if (is_shared) {
      if (!(own->shm_shared & bit)) node->shm_shared[slot]++;
      own->shm_shared |= bit;
    } else {
      node->shm_exclusive[slot] = true;
      own->shm_exclusive |= bit;
    }
  }
  return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *file) { (void)file; }

static int shm_unmap(sqlite3_file *file, int removes) {
  disk_file *own = of(file);
  if (!own->uses_shm) return SQLITE_OK;
  shm_lock(file, 0, FAULTY_SHM_SLOTS, SQLITE_SHM_UNLOCK);
  own->uses_shm = false;
  own->file->shm_users--;
  // Nobody has it any more: the next one builds it from the WAL, as after a restart.
  if (own->file->shm_users == 0 || removes) {
    for (int i = 0; i < FAULTY_SHM_REGIONS; i++) {
      free(own->file->regions[i]);
      own->file->regions[i] = NULL;
    }
  }
  return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
  .iVersion = 2,
  .xClose = file_close,
  .xRead = file_read,
  .xWrite = file_write,
  .xTruncate = file_truncate,
  .xSync = file_sync,
  .xFileSize = file_size,
  .xLock = file_lock,
  .xUnlock = file_unlock,
  .xCheckReservedLock = file_is_reserved,
  .xFileControl = file_control,
  .xSectorSize = file_sector,
  .xDeviceCharacteristics = file_traits,
  .xShmMap = shm_map,
  .xShmLock = shm_lock,
  .xShmBarrier = shm_barrier,
  .xShmUnmap = shm_unmap,
};

// MARK: Names

static int vfs_open(sqlite3_vfs *self, const char *path, sqlite3_file *file, int flags, int *out) {
  (void)self;
  const char *name;
  if (!path || strncmp(path, FAULTY_PREFIX, strlen(FAULTY_PREFIX)) != 0) {
    return before->xOpen(before, path, file, flags, out);
  }
  file->pMethods = NULL;
  faulty_disk *disk = disk_of_path(path, &name);
  if (!disk || disk->is_dead) return SQLITE_CANTOPEN;
  file_node *node = disk_find(disk, name);
  bool is_new = !node;
  if (!node && !(flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
  if (!node && disk->is_full) return SQLITE_FULL;
  if (!node) node = disk_make(disk, name);
  disk_file *own = of(file);
  memset(own, 0, sizeof *own);
  own->disk = disk;
  own->file = node;
  int journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
  own->syncs_folder = is_new && flags & journals;
  own->base.pMethods = &methods;
  if (out) *out = flags;
  return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *self, const char *path, int syncs_folder) {
  (void)self;
  const char *name;
  faulty_disk *disk = disk_of_path(path, &name);
  if (!disk) return before->xDelete(before, path, syncs_folder);
  if (disk->is_dead) return SQLITE_IOERR_DELETE;
  file_node *node = disk_find(disk, name);
  if (!node) return SQLITE_IOERR_DELETE_NOENT;
  disk_remove(disk, node, syncs_folder);
  return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *self, const char *path, int flags, int *result) {
  (void)self;
  const char *name;
  faulty_disk *disk = disk_of_path(path, &name);
  if (!disk) return before->xAccess(before, path, flags, result);
  file_node *node = disk_find(disk, name);
  // An empty journal counts as none, as SQLite's own VFS has it.
  *result = node && (flags != SQLITE_ACCESS_EXISTS || node->seen.count > 0);
  return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *self, const char *path, int room, char *full) {
  (void)self;
  if (strncmp(path, FAULTY_PREFIX, strlen(FAULTY_PREFIX)) != 0) {
    return before->xFullPathname(before, path, room, full);
  }
  int count = snprintf(full, (size_t)room, "%s", path);
  return count >= 0 && count < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

static void *vfs_dl_open(sqlite3_vfs *self, const char *path) {
  (void)self;
  return before->xDlOpen(before, path);
}

static void vfs_dl_error(sqlite3_vfs *self, int count, char *text) {
  (void)self;
  before->xDlError(before, count, text);
}

static void (*vfs_dl_symbol(sqlite3_vfs *self, void *handle, const char *name))(void) {
  (void)self;
  return before->xDlSym(before, handle, name);
}

static void vfs_dl_close(sqlite3_vfs *self, void *handle) {
  (void)self;
  before->xDlClose(before, handle);
}

static int vfs_randomness(sqlite3_vfs *self, int count, char *bytes) {
  (void)self;
  return before->xRandomness(before, count, bytes);
}

static int vfs_sleep(sqlite3_vfs *self, int microseconds) {
  (void)self;
  return before->xSleep(before, microseconds);
}

static int vfs_time(sqlite3_vfs *self, double *time) {
  (void)self;
  return before->xCurrentTime(before, time);
}

static int vfs_last_error(sqlite3_vfs *self, int count, char *text) {
  (void)self;
  return before->xGetLastError ? before->xGetLastError(before, count, text) : errno;
}

static int vfs_time_64(sqlite3_vfs *self, sqlite3_int64 *time) {
  (void)self;
  return before->xCurrentTimeInt64(before, time);
}

static void add(void) {
  if (sqlite3_initialize() != SQLITE_OK) abort();
  before = sqlite3_vfs_find(NULL);
  if (!before) abort();
  vfs.iVersion = 2;
  vfs.szOsFile = before->szOsFile > (int)sizeof(disk_file) ? before->szOsFile : (int)sizeof(disk_file);
  vfs.mxPathname = before->mxPathname;
  vfs.zName = "fanfare-faulty";
  vfs.xOpen = vfs_open;
  vfs.xDelete = vfs_delete;
  vfs.xAccess = vfs_access;
  vfs.xFullPathname = vfs_full_path;
  vfs.xDlOpen = vfs_dl_open;
  vfs.xDlError = vfs_dl_error;
  vfs.xDlSym = vfs_dl_symbol;
  vfs.xDlClose = vfs_dl_close;
  vfs.xRandomness = vfs_randomness;
  vfs.xSleep = vfs_sleep;
  vfs.xCurrentTime = vfs_time;
  vfs.xGetLastError = vfs_last_error;
  vfs.xCurrentTimeInt64 = vfs_time_64;
  // The default, because whoever opens the log names none.
  if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK) abort();
}

void vfs_register(void) { pthread_once(&registered, add); }
