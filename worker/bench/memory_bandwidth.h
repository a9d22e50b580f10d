// Measures the bandwidth of this machine's memory, to compare memory-bound kernels with.
#pragma once

namespace gp::engine {

// Bytes per second of a = b + s * c over arrays that no cache holds, on `threads` threads: the best
// of several passes, written bytes counted once. Takes `seconds` and 96 MiB.
double MeasureMemoryBandwidth(int threads, double seconds = 0.3);
// The same for reading 256 MiB of huge pages; each thread reads its part in order.
double MeasureMemoryReads(int threads, double seconds = 0.5);

}  // namespace gp::engine
