// Text out of a checkpoint, by the gp-sampler that stands beside gpctl. Used by gpctl's main
// thread.
#pragma once

#include <functional>
#include <string>

#include "client/gpctl/session.h"

namespace gp::gpctl {

struct SampleOptions {
  std::string reference;
  std::string prompt = "\n";
  int64_t max_tokens = 200;
  double temperature = 0.8;
  int64_t top_k = 200;
  uint64_t seed = 1337;
  int count = 1;
  std::string precision = "auto";
};

// Calls `on_text` as the text comes. The sampler's own error is on stderr; the status repeats its
// kind.
Status SampleCheckpoint(const std::string& directory, const SampleOptions& options,
                        Session& session, const std::function<void(const std::string&)>& on_text);

}  // namespace gp::gpctl
