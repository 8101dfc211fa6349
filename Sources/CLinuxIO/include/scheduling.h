#pragma once
// How the kernel schedules threads: what the server and the load generator ask of it alike.

/// Asks the scheduler for short turns for the calling thread: when it wakes, it does not wait until a thread that has
/// long ones gives up the core. Its share of the processor stays what it was. 0, or -errno where the kernel does not
/// know of it (before Linux 6.12 it is accepted and changes nothing).
int linuxio_take_short_turns(void);

/// Leaves more of the processor to other threads than the calling one takes, where both want it: `by` is what is added to
/// its niceness. A low share, and never none.
void linuxio_step_back(int by);
