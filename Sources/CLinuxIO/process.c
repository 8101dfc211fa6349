#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int input) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int error = posix_spawnattr_setsigmask(attributes, &none);
  if (!error) error = posix_spawnattr_setsigdefault(attributes, &all);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
#ifdef POSIX_SPAWN_CLOEXEC_DEFAULT
  flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
  if (!error) error = posix_spawn_file_actions_addinherit_np(actions, 1);
  if (!error) error = posix_spawn_file_actions_addinherit_np(actions, 2);
#endif
  if (!error) error = posix_spawnattr_setflags(attributes, flags);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, input, 0);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
  // Elsewhere it inherits what was opened without close-on-exec, of which we open nothing.
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
  return error;
}

int linuxio_start_program(const char *path, char *const *arguments, int input) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return -error;
  error = posix_spawnattr_init(&attributes);
  if (error) {
    posix_spawn_file_actions_destroy(&actions);
    return -error;
  }
  pid_t process = 0;
  error = prepare(&actions, &attributes, input);
  if (!error) error = posix_spawn(&process, path, &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error ? -error : process;
}

int linuxio_wait_for_end(int process) {
  siginfo_t info;
  while (waitid(P_PID, (id_t)process, &info, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) return -errno;
  }
  return 0;
}

int linuxio_reap(int process, int *status) {
  int found = 0;
  while (waitpid(process, &found, 0) < 0) {
    if (errno != EINTR) return -errno;
  }
  *status = WIFSIGNALED(found) ? -WTERMSIG(found) : WEXITSTATUS(found);
  return 0;
}

int linuxio_pipe(int ends[2]) {
#ifdef __linux__
  return pipe2(ends, O_CLOEXEC) == 0 ? 0 : -errno;
#else
  if (pipe(ends) != 0) return -errno;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  return 0;
#endif
}

int linuxio_read_to_end(int fd) {
  char bytes[256];
  for (;;) {
    ssize_t count = read(fd, bytes, sizeof bytes);
    if (count == 0) return 0;
    if (count < 0 && errno != EINTR) return -errno;
  }
}
