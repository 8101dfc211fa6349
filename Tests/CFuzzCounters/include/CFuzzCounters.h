// Shows libFuzzer the counters of the code that was reached, instead of those of the whole program.
#pragma once

/// Has libFuzzer look at pages of counters from the first write to each, or at all of them at once. Before the fuzzer begins.
void fuzzcounters_begin(int all);

/// Begins to wait for first writes, with the first call. Before each input.
void fuzzcounters_watch(void);

/// Adds the pages that were written first since the last call. After each input, before libFuzzer looks at it.
void fuzzcounters_add_reached(void);
