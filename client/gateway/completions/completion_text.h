// Writes the answers of /v1/completions: whole ones, and the chunks of a stream. JSON is assembled
// by hand, because there is a chunk for every token. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/utf8.h"
#include "client/gateway/models/checkpoint_facts.h"
#include "contract/sampling_messages.h"

namespace gp::gateway {

// The four lists of a choice's logprobs: tokens, token_logprobs, top_logprobs, text_offset.
class LogprobsText {
 public:
  // `score` is absent for the first token of a prompt, which has no context.
  void Add(const Tokenizer& tokenizer, int32_t token, const link::TokenScore* score);
  // Bytes added since the last Take.
  size_t bytes() const {
    return tokens_.size() + logprobs_.size() + tops_.size() + offsets_.size();
  }
  // Returns the lists as JSON and empties them; text offsets continue.
  std::string Take();

 private:
  std::string tokens_;
  std::string logprobs_;
  std::string tops_;
  std::string offsets_;
  CharacterCounter written_;  // characters of the text so far; offsets count in them
};

// The fields that all answers to one request share.
struct CompletionHead {
  std::string id;  // "cmpl-…"
  int64_t created = 0;
  std::string model;  // "demo@2000"
  std::string fingerprint;
};

struct CompletionUsage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

struct ChoiceText {
  size_t index = 0;
  std::string text;
  std::string logprobs;               // JSON; empty: null
  std::optional<std::string> finish;  // "stop", "length"
};

class CompletionText {
 public:
  // `nulls`: each text chunk has "usage": null, because the request has
  // stream_options.include_usage and the usage comes in a last chunk of its own.
  CompletionText(const CompletionHead& head, bool nulls);

  // One event of a stream, with one choice.
  std::string Chunk(const ChoiceText& choice) const;
  std::string UsageChunk(const CompletionUsage& usage) const;
  std::string Whole(const std::vector<ChoiceText>& choices, const CompletionUsage& usage) const;

 private:
  std::string begin_;  // up to the choices
  std::string end_;    // after them
  bool nulls_;
};

}  // namespace gp::gateway
