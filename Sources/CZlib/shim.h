#pragma once
#include <zlib.h>

// The beginnings of streams are macros, which Swift does not import. Both streams are raw (RFC 1951): without the header
// and the checksum of zlib's own format.

// Windows of 9 to 15 bits: zlib has no raw stream of 8.
static inline int czlib_deflate_begin(z_stream *stream, int level, int window_bits, int memory_level) {
  return deflateInit2(stream, level, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY);
}

// Reads what was written with a window of any size.
static inline int czlib_inflate_begin(z_stream *stream) { return inflateInit2(stream, -15); }
