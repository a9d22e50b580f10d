// TextBatch: texts that a Decoder writes concurrently, token by token (continuous batching). Before
// any pass, a text joins when a slot is free, and leaves when it ends or is dropped. Texts that
// wait are served in the order of arrival. On a CPU a text does not depend on the others (Decoder).
// Prompts are read in pieces of a few rows, so that other texts continue meanwhile. One thread
// calls; errors of the decoder are exceptions.
//
// When a sequence has filled its slot, it continues with its newest tokens, as many as the slot
// holds. They are read again for every new token: position embeddings are learned, so nothing in
// the cache can be reused. Each such token costs a full pass over the window. Of a prompt that is
// longer than the slot only the newest tokens are read and scored.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "worker/engine/model/decoder.h"
#include "worker/sampler/token_sampler.h"
#include "worker/sampler/token_score.h"

namespace gp::engine {

struct TextRequest {
  std::vector<int32_t> prompt;  // not empty, ids of the vocabulary
  SamplingOptions sampling;
  int64_t max_tokens = 200;
  uint64_t seed = 0;
  uint64_t sample = 0;              // index among the texts of this seed
  std::vector<int32_t> end_tokens;  // each of them ends the text when it is drawn
  std::optional<int64_t> scored;    // score each token, with this many alternatives
  bool score_prompt = false;        // with `scored`: also the prompt's tokens
};

enum class TextEnd {
  kNone,
  kLength,    // max_tokens are written
  kEndToken,  // an end token was drawn; it is not part of the text
  kNotFinite  // the model's logits are not finite
};

// The result of one pass for a text.
struct TextProgress {
  uint64_t id = 0;
  std::optional<int32_t> token;  // the next one
  ScoredToken score;             // the token's score, if requested
  // For each prompt token that was read, the score of the token after it; the first token has none.
  std::vector<ScoredToken> prompt_scores;
  TextEnd end = TextEnd::kNone;
};

struct TextBatchOptions {
  int64_t drawable = 0;      // ids below it may be drawn; the decoder's vocabulary may be larger
  int64_t prompt_rows = 64;  // tokens of prompts that one pass reads at most
};

class TextBatch {
 public:
  // `decoder` must outlive this object, which uses all its slots.
  TextBatch(Decoder& decoder, const TextBatchOptions& options);
  ~TextBatch();

  // REQUIRES: `id` is not in use; the prompt is not empty, and its ids are below the decoder's
  // vocabulary.
  void Add(uint64_t id, TextRequest request);
  // Ends the text; its slot is free for the next pass. Ignores an unknown id.
  void Drop(uint64_t id);

  bool idle() const { return texts_.empty() && waiting_.empty(); }

  // One pass through the model: a token for each text that has read its prompt, and a piece of the
  // prompts of others. Texts that ended are gone.
  std::vector<TextProgress> Advance();

 private:
  class Text;

  void Admit();
  void PlanPass();
  TextProgress Note(Text& text, const SlotTokens& read, std::span<float> logits) const;
  void ScorePrompt(const Text& text, const SlotTokens& read, std::span<const float> logits,
                   TextProgress& progress) const;
  // The text's next token; none if the logits are not finite.
  static std::optional<int32_t> Draw(const Text& text, const LikelyTokens& likely);
  std::optional<int32_t> Draw(const Text& text, std::span<float> logits,
                              TextProgress& progress) const;
  static void AddToken(Text& text, std::optional<int32_t> token, TextProgress& progress);

  Decoder& decoder_;
  const TextBatchOptions options_;
  std::deque<std::unique_ptr<Text>> waiting_;
  std::vector<std::unique_ptr<Text>> texts_;  // texts with a slot, in order of arrival
  std::vector<int64_t> free_slots_;

  // The state of the current pass.
  std::vector<SlotTokens> added_;
  std::vector<Text*> reading_;  // by entry of added_
  std::vector<float> logits_;
};

}  // namespace gp::engine
