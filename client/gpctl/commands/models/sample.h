// Writes text from a checkpoint. `gpctl sample` asks the service's gateway if it serves the
// checkpoint, --precision is auto and there are at most 8 texts; otherwise it runs the gp-sampler
// beside gpctl. Both write the same text. Used by gpctl's main thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/api/gateway_client.h"
#include "client/gpctl/commands/command_set.h"
#include "client/gpctl/session/session.h"

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

// Adds the flags for writing a text: --max-tokens, --temperature and so on.
void AddTextFlags(Command command, SampleOptions& options);

// The same options as a request to a gateway, which decides about the precision itself.
client::CompletionOptions ToCompletion(const std::string& model, const SampleOptions& options);

// Runs gp-sampler and calls `on_text` with its output as it comes: prompt and text, samples divided
// by a line of dashes. The sampler's own error is on stderr; the status repeats its kind.
Status SampleCheckpoint(const std::string& directory, const SampleOptions& options,
                        Session& session, const std::function<void(const std::string&)>& on_text);

}  // namespace gp::gpctl
