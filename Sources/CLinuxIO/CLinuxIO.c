// Defined here and not in the header: with _GNU_SOURCE in a header, the module would declare Glibc's types anew and
// differently from Swift's own Glibc module.
#define _GNU_SOURCE
#include "CLinuxIO.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#include <sys/timex.h>
#endif

int linuxio_accept(int listener) {
#ifdef __linux__
  int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return fd >= 0 ? fd : -errno;
#else
  int fd = accept(listener, NULL, NULL);
  if (fd < 0) return -errno;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
  return fd;
#endif
}

int linuxio_stream_socket(int family) {
#ifdef __linux__
  int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd >= 0 ? fd : -errno;
#else
  int fd = socket(family, SOCK_STREAM, 0);
  if (fd < 0) return -errno;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
#endif
}

long linuxio_send(int fd, const void *bytes, size_t count) {
#ifdef __linux__
  ssize_t sent = send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
#else
  ssize_t sent = send(fd, bytes, count, MSG_DONTWAIT);
#endif
  if (sent >= 0) return sent;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -errno;
}

int linuxio_wakeup_open(int ends[2]) {
#ifdef __linux__
  int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return -errno;
  ends[0] = ends[1] = fd;
  return 0;
#else
  return pipe(ends) == 0 ? 0 : -errno;
#endif
}

void linuxio_wakeup_signal(const int ends[2]) {
  uint64_t one = 1;
  ssize_t ignored = write(ends[1], &one, sizeof one);
  (void)ignored;
}

void linuxio_wakeup_close(const int ends[2]) {
  close(ends[0]);
  if (ends[1] != ends[0]) close(ends[1]);
}

void linuxio_name_thread(const char *name) {
#ifdef __linux__
  pthread_setname_np(pthread_self(), name);
#else
  pthread_setname_np(name);
#endif
}

#ifdef __linux__
static int watches(const char *epoll, int fd) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%s", epoll);
  FILE *info = fopen(path, "re");
  if (info == NULL) return 0;
  int found = 0, watched;
  while (!found && fgets(line, sizeof line, info) != NULL) {
    if (sscanf(line, "tfd: %d", &watched) == 1 && watched == fd) found = 1;
  }
  fclose(info);
  return found;
}
#endif

int linuxio_epoll_watching(int fd) {
  int found = -1;
#ifdef __linux__
  DIR *open_files = opendir("/proc/self/fd");
  if (open_files == NULL) return -1;
  for (struct dirent *entry; found < 0 && (entry = readdir(open_files)) != NULL;) {
    char target[64] = {0};
    if (readlinkat(dirfd(open_files), entry->d_name, target, sizeof target - 1) < 0) continue;
    if (strcmp(target, "anon_inode:[eventpoll]") == 0 && watches(entry->d_name, fd)) found = atoi(entry->d_name);
  }
  closedir(open_files);
#else
  (void)fd;
#endif
  return found;
}

int linuxio_epoll_has_events(int epoll) {
  struct pollfd polled = {.fd = epoll, .events = POLLIN};
  return poll(&polled, 1, 0) != 0;
}

long long linuxio_file_size(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 ? (long long)status.st_size : -errno;
}

long long linuxio_last_write(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return 0;
#ifdef __APPLE__
  struct timespec written = status.st_mtimespec;
#else
  struct timespec written = status.st_mtim;
#endif
  return (long long)written.tv_sec * 1000000000LL + written.tv_nsec;
}

int linuxio_clock_is_synchronized(void) {
#ifdef __linux__
  struct timex state;
  memset(&state, 0, sizeof state);  // No modes: it only asks.
  int clock = adjtimex(&state);
  return clock >= 0 && clock != TIME_ERROR && !(state.status & STA_UNSYNC);
#else
  return 0;
#endif
}
