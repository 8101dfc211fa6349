#ifndef FAULTY_DISK_H
#define FAULTY_DISK_H

#include "faulty_vfs.h"

#define FAULTY_PREFIX "/faulty-disk/"
#define FAULTY_FILES 16
#define FAULTY_SHM_SLOTS 8
#define FAULTY_SHM_REGIONS 64

typedef struct {
  uint8_t *bytes;
  size_t count;
  size_t room;
} image;

typedef struct {
  size_t offset;
  // Of a truncation: nothing, and `offset` is the new size.
  uint8_t *bytes;
  size_t count;
} unsynced_write;

typedef struct {
  char name[64];
  // As the process sees it. A file that was deleted keeps its place for as long as the disk may still have it.
  bool is_there;
  image seen;
  // As the disk has it.
  bool is_on_disk;
  image synced;
  unsynced_write *writes;
  size_t write_count;
  size_t write_room;
  // Locks of SQLite's, by connection.
  int shared;
  bool reserved;
  bool pending;
  bool exclusive;
  // The index of the WAL.
  void *regions[FAULTY_SHM_REGIONS];
  int shm_shared[FAULTY_SHM_SLOTS];
  bool shm_exclusive[FAULTY_SHM_SLOTS];
  int shm_users;
} file_node;

struct faulty_disk {
  uint64_t number;
  file_node files[FAULTY_FILES];
  bool is_dead;
  bool is_full;
  bool is_lying;
  int64_t write_countdown;
  int64_t sync_countdown;
  uint64_t write_count;
  uint64_t sync_count;
};

typedef enum { DISK_OK, DISK_FULL, DISK_ERROR } disk_result;

// Nil where the path is none of a disk's; `name` points into the path.
faulty_disk *disk_of_path(const char *path, const char **name);
file_node *disk_find(faulty_disk *disk, const char *name);
file_node *disk_make(faulty_disk *disk, const char *name);
disk_result disk_write(faulty_disk *disk, file_node *file, size_t offset, const void *bytes, size_t count);
disk_result disk_truncate(faulty_disk *disk, file_node *file, size_t size);
disk_result disk_sync(faulty_disk *disk, file_node *file);
void disk_sync_folder(faulty_disk *disk);
void disk_remove(faulty_disk *disk, file_node *file, bool syncs_folder);
// To be called before a disk's files are named to SQLite.
void vfs_register(void);

#endif
