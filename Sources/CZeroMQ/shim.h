#pragma once
#include <zmq.h>
#ifdef __linux__
// The wake descriptor of a poll loop; Swift's Glibc module leaves this header out.
#include <sys/eventfd.h>
#include <sys/prctl.h>

// prctl is variadic, which Swift does not import. Linux keeps the first 15 bytes.
static inline void czmq_name_this_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
#endif
