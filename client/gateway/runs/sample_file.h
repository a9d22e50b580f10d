// The newest samples of a run out of its samples.jsonl (docs/formats/records.md). Functions that
// read a file; any thread.
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
// lines, for instance one that is being written. NotFound when there is no file.
StatusOr<std::deque<Sample>> ReadNewestSamples(const std::string& path);

// Adds a sample; drops later steps and old samples, and cuts a long text between characters.
void AddSample(Sample sample, std::deque<Sample>& samples);

}  // namespace gp::gateway
