// SpecialTokens: what a tokenizer's special tokens are for, by id. A tokenizer names them, and so
// does the configuration of the model that it belongs to; they need not agree. Values and pure
// functions; any thread may call. Which files say what: docs/formats/tokenizers.md.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace gp {

struct SpecialTokens {
  // The tokenizer's.
  std::optional<int32_t> bos;
  std::optional<int32_t> eos;  // stands between documents
  std::optional<int32_t> pad;
  std::optional<int32_t> unk;
  // The model's. Any token may be one of them.
  std::optional<int32_t> model_bos;  // begins a text without a prompt
  std::vector<int32_t> model_eos;    // each of them ends a text that the model writes
  std::optional<int32_t> model_pad;
  // No file names `eos`, and the model's say that it has none: it only separates documents.
  bool eos_is_guess = false;
  // Hugging Face encodes text that spells them as any other text, as gp does (its
  // split_special_tokens). Exports say so.
  bool split_in_text = false;

  bool operator==(const SpecialTokens&) const = default;
};

// What the spelling of special tokens tells, where no file says what they are for: <|endoftext|>,
// or else </s>, [EOS] and their like end a text. `tokens` are texts by id, `special` ids.
SpecialTokens SpecialTokensBySpelling(std::span<const std::string> tokens,
                                      std::span<const int32_t> special);

// {"bos": 500, "eos": 501, "model_eos": [501]}: how tokenizer files of checkpoints keep them.
nlohmann::ordered_json SpecialTokensJson(const SpecialTokens& tokens);

// The reverse. InvalidArgument names the key whose value is no id below `vocabulary`.
StatusOr<SpecialTokens> ReadSpecialTokens(const nlohmann::json& json, int64_t vocabulary);

}  // namespace gp
