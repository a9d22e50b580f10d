// SpecialTokens: the purposes of a tokenizer's special tokens, by id. Both a tokenizer and its
// model's configuration define them; they need not agree. Values and pure functions; any thread may
// call. The files and their keys: docs/formats/tokenizers.md.
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
  // According to the tokenizer.
  std::optional<int32_t> bos;
  std::optional<int32_t> eos;  // separates documents
  std::optional<int32_t> pad;
  std::optional<int32_t> unk;
  // According to the model's configuration. These may be any tokens, also ordinary ones.
  std::optional<int32_t> model_bos;  // begins a text without a prompt
  std::vector<int32_t> model_eos;    // each of them ends a text that the model writes
  std::optional<int32_t> model_pad;
  // No file names `eos`, and the model's files define no end token: `eos` only separates documents.
  bool eos_is_guess = false;
  // Hugging Face encodes text that spells special tokens as ordinary text (split_special_tokens),
  // as gp always does. Exports repeat this setting.
  bool split_in_text = false;

  bool operator==(const SpecialTokens&) const = default;
};

// The purposes guessed from the spelling of special tokens, if no file defines them: <|endoftext|>,
// or else </s>, [EOS] and similar ones end a text. `tokens` are texts by id, `special` ids.
SpecialTokens SpecialTokensBySpelling(std::span<const std::string> tokens,
                                      std::span<const int32_t> special);

// {"bos": 500, "eos": 501, "model_eos": [501]}: how tokenizer files of checkpoints keep them.
nlohmann::ordered_json SpecialTokensJson(const SpecialTokens& tokens);

// Reads it back. InvalidArgument names the key whose value is not an id below `vocabulary`.
StatusOr<SpecialTokens> ReadSpecialTokens(const nlohmann::json& json, int64_t vocabulary);

}  // namespace gp
