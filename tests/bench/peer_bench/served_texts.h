// The three ways in which gp-peer-bench serve can write texts, behind one interface, so that it can
// alternate between them: our gateway, llama.cpp's server, and our sampler without HTTP. One thread
// calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/peer_bench/text_load.h"

namespace gp::engine {

// One round: texts that are written `streams` at a time, each of `tokens` tokens after a prompt.
struct TextRound {
  int64_t streams = 1;
  int64_t tokens = 64;
  std::vector<std::vector<int32_t>> prompts;
  std::string probe;  // see TextLoad; servers only
};

class TextServer {
 public:
  virtual ~TextServer() = default;
  virtual std::string description() const = 0;
  virtual StatusOr<LoadOutcome> Write(const TextRound& round) = 0;
  // Resident memory of the HTTP server process; 0 if there is none.
  virtual int64_t ResidentBytes() const { return 0; }
  virtual uint16_t port() const { return 0; }
};

struct ServedModel {
  std::string checkpoint;   // its directory
  std::string precision;    // fp32, bf16
  int64_t streams = 1;      // at a time, at most
  int64_t text_tokens = 0;  // prompt and text, at most
  int threads = 1;
  std::string scratch;  // directory for the servers' files
};

StatusOr<std::unique_ptr<TextServer>> StartGateway(const ServedModel& model);
// NotFound unless scripts/bootstrap --peers built it. `python` converts the weights; if it is
// empty, the Python of .deps/peers does.
StatusOr<std::unique_ptr<TextServer>> StartLlamaServer(const ServedModel& model,
                                                       const std::string& python);
StatusOr<std::unique_ptr<TextServer>> StartSampler(const ServedModel& model);

}  // namespace gp::engine
