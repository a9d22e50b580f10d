// The messages between a supervisor (the gateway) and a sampler process (gp-sampler) over the link,
// besides Hello, Stop and Failed of contract/messages.h, which every engine process uses. Same
// rules: fields are only added, unknown ones are ignored. The bytes and the order of messages are
// described in docs/formats/link.md. Plain values; no thread rules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gp::link {

// ---- supervisor to sampler ----

// The checkpoint to sample from. Sent once, after Hello. The sampler answers ModelReady or Failed.
struct OpenModel {
  std::string directory;
  // "fp32", "bf16", or "auto": the nearest of the two to what the checkpoint's run computed with
  // (formats/recorded_precision.h).
  std::string precision = "auto";
  int threads = 1;
  int64_t streams = 1;        // most texts that are written at the same time
  uint64_t memory_bytes = 0;  // for weights, cache and buffers; fewer streams if they do not fit
};

// One text to write. It waits until a stream is free; texts begin in the order in which their
// requests arrived, and end in any order.
struct Generate {
  uint64_t request = 0;         // chosen by the supervisor, never used twice
  std::vector<int32_t> prompt;  // not empty
  int64_t max_tokens = 16;      // prompt + max_tokens <= context
  double temperature = 1;       // 0: always the likeliest token
  int64_t top_k = 50;           // 0: all
  double top_p = 1;
  double min_p = 0;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::map<int32_t, double> logit_bias;
  uint64_t seed = 0;
  uint64_t sample = 0;              // index of the text among those of this seed
  std::vector<std::string> stop;    // no empty strings; the text ends before the first match
  std::optional<int64_t> logprobs;  // score each token, with this many alternatives
  bool score_prompt = false;        // with logprobs: also score the prompt's tokens
  bool ignore_end_of_text = false;  // else the tokenizer's end-of-text token ends the text
  // The text begins with the incomplete character at the prompt's end.
  std::optional<bool> continues_prompt;
};

// Stops this text; its stream is free after the token in flight. The sampler sends nothing more
// about it. An unknown request is ignored.
struct Withdraw {
  uint64_t request = 0;
};

// ---- sampler to supervisor ----

struct ModelReady {
  int64_t step = 0;
  std::string precision;      // "fp32", "bf16"
  std::string device;         // "cpu avx2", "cuda sm_90"
  int64_t streams = 0;        // texts that are written at the same time
  int64_t context = 0;        // tokens of prompt and text together, at most
  int64_t vocabulary = 0;     // ids that may be drawn
  uint64_t memory_bytes = 0;  // taken by weights, cache and buffers
  // A text does not depend on the other texts that are written at the same time.
  bool reproducible = true;
};

// Natural logarithms of the probabilities that the model gave, before temperature and the other
// settings.
struct TokenScore {
  double logprob = 0;
  std::vector<int32_t> top;  // the likeliest ids, in descending order
  std::vector<double> top_logprobs;
};

// The text written since the last piece of this request.
struct TextPiece {
  uint64_t request = 0;
  std::string text;  // whole characters; the possible beginning of a stop string is held back
  std::vector<int32_t> tokens;     // the tokens whose last character is in `text`
  std::vector<TokenScore> scores;  // by token, if logprobs were requested
  // One for each token of the prompt from the second on; only in the first piece.
  std::vector<TokenScore> prompt_scores;
  std::optional<std::string> finish;  // "stop" or "length" in the last piece
  std::optional<std::string> error;   // in the last piece: why the text cannot continue
};

// Sent after each pass through the model.
struct Generated {
  std::vector<TextPiece> pieces;
};

}  // namespace gp::link
