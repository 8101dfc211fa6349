#pragma once
#include <zmq.h>
#ifdef __linux__
// What a poll loop waits on, and its wake descriptor; Swift's Glibc module leaves these headers out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

// prctl is variadic, which Swift does not import. Linux keeps the first 15 bytes.
static inline void czmq_name_this_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
#endif
