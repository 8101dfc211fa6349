#include "disk.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static faulty_disk **table;
static size_t table_count;
static uint64_t next_number = 1;

// Memory that cannot be had is the end of a test.
static void *must(void *memory) {
  if (!memory) abort();
  return memory;
}

// MARK: Images

static void image_resize(image *image, size_t count) {
  if (count > image->room) {
    size_t room = image->room ? image->room : 4096;
    while (room < count) room *= 2;
    image->bytes = must(realloc(image->bytes, room));
    image->room = room;
  }
  if (count > image->count) memset(image->bytes + image->count, 0, count - image->count);
  image->count = count;
}

static void image_write(image *image, size_t offset, const void *bytes, size_t count) {
  if (offset + count > image->count) image_resize(image, offset + count);
  if (count) memcpy(image->bytes + offset, bytes, count);
}

static void image_copy(image *to, const image *from) {
  to->count = 0;
  image_resize(to, from->count);
  if (from->count) memcpy(to->bytes, from->bytes, from->count);
}

static void image_free(image *image) {
  free(image->bytes);
  memset(image, 0, sizeof *image);
}

static void image_apply(image *image, const unsynced_write *write) {
  if (write->bytes) image_write(image, write->offset, write->bytes, write->count);
  else image_resize(image, write->offset);
}

// MARK: Disks

static faulty_disk *disk_new(void) {
  faulty_disk *disk = must(calloc(1, sizeof *disk));
  disk->write_countdown = -1;
  disk->sync_countdown = -1;
  pthread_mutex_lock(&table_lock);
  disk->number = next_number++;
  size_t place = 0;
  while (place < table_count && table[place]) place++;
  if (place == table_count) {
    table = must(realloc(table, (table_count + 1) * sizeof *table));
    table_count++;
  }
  table[place] = disk;
  pthread_mutex_unlock(&table_lock);
  return disk;
}

faulty_disk *faulty_disk_create(void) {
  vfs_register();
  return disk_new();
}

faulty_disk *disk_of_path(const char *path, const char **name) {
  if (!path || strncmp(path, FAULTY_PREFIX, strlen(FAULTY_PREFIX)) != 0) return NULL;
  char *end;
  uint64_t number = strtoull(path + strlen(FAULTY_PREFIX), &end, 10);
  if (*end != '/') return NULL;
  *name = end + 1;
  faulty_disk *found = NULL;
  pthread_mutex_lock(&table_lock);
  for (size_t i = 0; i < table_count && !found; i++) {
    if (table[i] && table[i]->number == number) found = table[i];
  }
  pthread_mutex_unlock(&table_lock);
  return found;
}

static void forget_writes(file_node *file) {
  for (size_t i = 0; i < file->write_count; i++) free(file->writes[i].bytes);
  file->write_count = 0;
}

static void file_clear(file_node *file) {
  forget_writes(file);
  free(file->writes);
  image_free(&file->seen);
  image_free(&file->synced);
  for (int i = 0; i < FAULTY_SHM_REGIONS; i++) free(file->regions[i]);
  memset(file, 0, sizeof *file);
}

void faulty_disk_destroy(faulty_disk *disk) {
  pthread_mutex_lock(&table_lock);
  for (size_t i = 0; i < table_count; i++) {
    if (table[i] == disk) table[i] = NULL;
  }
  pthread_mutex_unlock(&table_lock);
  for (int i = 0; i < FAULTY_FILES; i++) file_clear(&disk->files[i]);
  free(disk);
}

file_node *disk_find(faulty_disk *disk, const char *name) {
  for (int i = 0; i < FAULTY_FILES; i++) {
    if (disk->files[i].is_there && strcmp(disk->files[i].name, name) == 0) return &disk->files[i];
  }
  return NULL;
}

static unsynced_write *add_write(file_node *file) {
  if (file->write_count == file->write_room) {
    file->write_room = file->write_room ? file->write_room * 2 : 64;
    file->writes = must(realloc(file->writes, file->write_room * sizeof *file->writes));
  }
  unsynced_write *write = &file->writes[file->write_count++];
  memset(write, 0, sizeof *write);
  return write;
}

file_node *disk_make(faulty_disk *disk, const char *name) {
  file_node *found = disk_find(disk, name);
  for (int i = 0; i < FAULTY_FILES && !found; i++) {
    file_node *file = &disk->files[i];
    if (!file->is_on_disk || strcmp(file->name, name) != 0) continue;
    // The disk may still have what was deleted, until the new one is synced.
    add_write(file)->offset = 0;
    file->is_there = true;
    found = file;
  }
  for (int i = 0; i < FAULTY_FILES && !found; i++) {
    file_node *file = &disk->files[i];
    if (file->is_there || file->is_on_disk) continue;
    file_clear(file);
    snprintf(file->name, sizeof file->name, "%s", name);
    file->is_there = true;
    found = file;
  }
  if (!found) abort();  // More files than a log has.
  return found;
}

static bool is_due(int64_t *countdown) {
  if (*countdown < 0) return false;
  *countdown -= 1;
  return *countdown < 0;
}

disk_result disk_write(faulty_disk *disk, file_node *file, size_t offset, const void *bytes, size_t count) {
  if (disk->is_dead) return DISK_ERROR;
  disk->write_count++;
  if (disk->is_full) return DISK_FULL;
  if (is_due(&disk->write_countdown)) return DISK_ERROR;
  image_write(&file->seen, offset, bytes, count);
  unsynced_write *write = add_write(file);
  write->offset = offset;
  write->count = count;
  write->bytes = must(malloc(count + 1));
  memcpy(write->bytes, bytes, count);
  return DISK_OK;
}

disk_result disk_truncate(faulty_disk *disk, file_node *file, size_t size) {
  if (disk->is_dead) return DISK_ERROR;
  if (is_due(&disk->write_countdown)) return DISK_ERROR;
  image_resize(&file->seen, size);
  add_write(file)->offset = size;
  return DISK_OK;
}

disk_result disk_sync(faulty_disk *disk, file_node *file) {
  if (disk->is_dead) return DISK_ERROR;
  disk->sync_count++;
  if (disk->is_lying) return DISK_OK;
  if (is_due(&disk->sync_countdown)) {
    forget_writes(file);
    return DISK_ERROR;
  }
  for (size_t i = 0; i < file->write_count; i++) image_apply(&file->synced, &file->writes[i]);
  forget_writes(file);
  return DISK_OK;
}

void disk_sync_folder(faulty_disk *disk) {
  if (disk->is_dead || disk->is_lying) return;
  for (int i = 0; i < FAULTY_FILES; i++) disk->files[i].is_on_disk = disk->files[i].is_there;
}

void disk_remove(faulty_disk *disk, file_node *file, bool syncs_folder) {
  if (disk->is_dead) return;
  file->is_there = false;
  image_resize(&file->seen, 0);
  forget_writes(file);
  if (syncs_folder) disk_sync_folder(disk);
}

faulty_disk *faulty_disk_copy(faulty_disk *disk) {
  faulty_disk *copy = disk_new();
  for (int i = 0; i < FAULTY_FILES; i++) {
    file_node *from = &disk->files[i];
    file_node *to = &copy->files[i];
    if (!from->is_there && !from->is_on_disk) continue;
    memcpy(to->name, from->name, sizeof to->name);
    to->is_there = from->is_there;
    to->is_on_disk = from->is_on_disk;
    image_copy(&to->seen, &from->seen);
    image_copy(&to->synced, &from->synced);
    for (size_t n = 0; n < from->write_count; n++) {
      unsynced_write *write = add_write(to);
      *write = from->writes[n];
      if (!write->bytes) continue;
      write->bytes = must(malloc(write->count + 1));
      memcpy(write->bytes, from->writes[n].bytes, write->count);
    }
  }
  copy->is_lying = disk->is_lying;
  return copy;
}

// SplitMix64.
static uint64_t next_random(uint64_t *state) {
  *state += 0x9E3779B97F4A7C15u;
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// What reaches the disk of the writes that nobody waited for.
static void keep_some(image *image, const file_node *file, uint64_t *random) {
  size_t count = file->write_count;
  if (count == 0) return;
  uint64_t kind = next_random(random) % 5;
  size_t first = kind == 2 || kind == 4 ? next_random(random) % (count + 1) : count;
  for (size_t i = 0; i < first && kind != 0; i++) {
    if (kind == 3 && next_random(random) % 2) continue;
    image_apply(image, &file->writes[i]);
  }
  if (kind == 4 && first < count && file->writes[first].bytes) {
    // Torn: the first sectors of it.
    unsynced_write torn = file->writes[first];
    size_t sectors = torn.count / 512;
    torn.count = sectors ? (next_random(random) % sectors) * 512 : 0;
    if (torn.count) image_apply(image, &torn);
  }
}

faulty_disk *faulty_disk_cut(faulty_disk *disk, uint64_t seed) {
  uint64_t random = seed;
  faulty_disk *left = disk_new();
  for (int i = 0; i < FAULTY_FILES; i++) {
    file_node *from = &disk->files[i];
    // A name that was not synced may be there or not.
    bool is_certain = from->is_there == from->is_on_disk;
    bool is_left = is_certain ? from->is_there : next_random(&random) % 2;
    if (!is_left) continue;
    file_node *to = &left->files[i];
    memcpy(to->name, from->name, sizeof to->name);
    to->is_there = to->is_on_disk = true;
    image_copy(&to->synced, &from->synced);
    keep_some(&to->synced, from, &random);
    image_copy(&to->seen, &to->synced);
  }
  left->is_lying = disk->is_lying;
  return left;
}

void faulty_disk_kill(faulty_disk *disk) { disk->is_dead = true; }
uint64_t faulty_disk_number(faulty_disk *disk) { return disk->number; }
void faulty_disk_set_full(faulty_disk *disk, bool full) { disk->is_full = full; }
void faulty_disk_fail_write(faulty_disk *disk, int64_t after) { disk->write_countdown = after; }
void faulty_disk_fail_sync(faulty_disk *disk, int64_t after) { disk->sync_countdown = after; }
void faulty_disk_set_lying(faulty_disk *disk, bool lying) { disk->is_lying = lying; }
uint64_t faulty_disk_write_count(faulty_disk *disk) { return disk->write_count; }
uint64_t faulty_disk_sync_count(faulty_disk *disk) { return disk->sync_count; }

// MARK: Files beside SQLite's own

int64_t faulty_disk_read(faulty_disk *disk, const char *name, void *bytes, size_t room) {
  file_node *file = disk_find(disk, name);
  if (!file) return -1;
  size_t count = file->seen.count < room ? file->seen.count : room;
  if (count) memcpy(bytes, file->seen.bytes, count);
  return (int64_t)file->seen.count;
}

bool faulty_disk_replace(faulty_disk *disk, const char *name, const void *bytes, size_t count) {
  if (disk->is_dead || disk->is_full) return false;
  disk->write_count++;
  disk->sync_count++;
  // The new file has another name until it is synced: what fails before leaves the old one.
  if (is_due(&disk->write_countdown) || is_due(&disk->sync_countdown)) return false;
  file_node *file = disk_make(disk, name);
  forget_writes(file);
  image_resize(&file->seen, 0);
  image_write(&file->seen, 0, bytes, count);
  if (disk->is_lying) {
    add_write(file)->offset = 0;
    unsynced_write *write = add_write(file);
    write->count = count;
    write->bytes = must(malloc(count + 1));
    memcpy(write->bytes, bytes, count);
  } else {
    image_copy(&file->synced, &file->seen);
    disk_sync_folder(disk);
  }
  return true;
}

void faulty_disk_overwrite(faulty_disk *disk, const char *name, const void *bytes, size_t count) {
  file_node *file = disk_find(disk, name);
  if (file) disk_write(disk, file, 0, bytes, count);
}

void faulty_disk_touch(faulty_disk *disk, const char *name) {
  if (!disk->is_dead) disk_make(disk, name);
}
