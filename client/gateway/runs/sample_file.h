// The newest samples of a run from its samples.jsonl (docs/formats/records.md). Functions that read
// a file; any thread.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "base/status.h"
#include "client/gateway/runs/board.h"

namespace gp::gateway {

inline constexpr size_t kSamplesMax = 50;
inline constexpr size_t kSampleBytesMax = 4096;

// The samples in the last 512 KiB of `path`, the newest kSamplesMax of them. Skips incomplete
// lines, for instance one that is being written. NotFound when the file cannot be opened.
StatusOr<std::deque<Sample>> ReadNewestSamples(const std::string& path);

// Adds a sample. First drops those of the same and later steps, which a restarted run repeats;
// keeps the newest kSamplesMax. Cuts a text at kSampleBytesMax, between characters.
void AddSample(Sample sample, std::deque<Sample>& samples);

}  // namespace gp::gateway
