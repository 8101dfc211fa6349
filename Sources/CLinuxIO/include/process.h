#pragma once
// Programs that a program starts and waits for. What can fail returns its result, or -errno.

/// Starts a program with these arguments, which end with a null pointer, and the caller's environment, output and working
/// folder. It inherits no other descriptor; `input` is its standard input. Signals do what they do by default, whatever
/// the caller ignores or blocks. Its process number, or -errno.
int linuxio_start_program(const char *_Nonnull path, char *_Nullable const *_Nonnull arguments, int input);

/// Waits until a child has ended, and leaves it to be reaped: its number is nobody else's until then. 0, or -errno.
int linuxio_wait_for_end(int process);

/// Reaps a child that has ended. `status` is its exit code, or the negative number of the signal that ended it. 0, or
/// -errno.
int linuxio_reap(int process, int *_Nonnull status);

/// A pipe, read at `ends[0]` and written at `ends[1]`; close-on-exec. 0, or -errno.
int linuxio_pipe(int ends[_Nonnull 2]);

/// Reads from a descriptor until its end; what is read is dropped. 0, or -errno.
int linuxio_read_to_end(int fd);
