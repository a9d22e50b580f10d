// Text out of a checkpoint, by the gp-sampler that stands beside gpctl or by a gateway; both write
// the same. Used by gpctl's main thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/api/gateway_client.h"
#include "client/gpctl/command_set.h"
#include "client/gpctl/session.h"

namespace gp::gpctl {

struct SampleOptions {
  std::string reference;
  std::string prompt = "\n";
  int64_t max_tokens = 200;
  double temperature = 0.8;
  int64_t top_k = 50;
  double top_p = 1;
  double min_p = 0;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::vector<std::string> stop;
  uint64_t seed = 1337;
  int count = 1;
  std::string precision = "auto";
};

// The flags of how a text is written: --max-tokens, --temperature and so on.
void AddTextFlags(Command command, SampleOptions& options);

// The same as a request to a gateway.
client::CompletionRequest ToCompletion(const std::string& model, const SampleOptions& options);

// Calls `on_text` as the text comes. The sampler's own error is on stderr; the status repeats its
// kind.
Status SampleCheckpoint(const std::string& directory, const SampleOptions& options,
                        Session& session, const std::function<void(const std::string&)>& on_text);

}  // namespace gp::gpctl
