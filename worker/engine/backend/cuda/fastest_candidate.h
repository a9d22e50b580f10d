// FastestCandidate: chooses one of many candidates by timing them, with few runs of the slow ones.
// A pure function of the times.
#pragma once

#include <cstddef>
#include <functional>

namespace gp::engine {

// Milliseconds of one run of candidate `i`, as the mean of `runs`; infinite if it cannot run.
using CandidateTime = std::function<double(size_t i, int runs)>;

// Runs each candidate once; those that take more than 1.5 times the fastest are out. The best four
// are timed again, in turn, so that a changing clock changes all their times. Returns the fastest
// by the least of these times, or candidate 0 unless another one is clearly faster, because
// otherwise noise would decide. REQUIRES: count >= 1.
size_t FastestCandidate(size_t count, const CandidateTime& time);

}  // namespace gp::engine
