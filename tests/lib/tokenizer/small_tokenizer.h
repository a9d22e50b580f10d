// A small byte-level BPE in the forms that Hugging Face saves. Tests change these forms.
#pragma once

#include <nlohmann/json.hpp>

#include "tokenizer/byte_alphabet.h"

namespace gp {

inline constexpr char kSmallMerges[] = "#version: 0.2\nh e\nl l\nhe ll\nĠ w\nhell o\n";

// The vocab.json for kSmallMerges: from `first` on, ids for the bytes, then for the merges, then
// for <|endoftext|>.
inline nlohmann::json SmallVocab(int64_t first = 0) {
  nlohmann::json vocab = nlohmann::json::object();
  for (const unsigned char byte : AlphabetOrder()) {
    const char character = static_cast<char>(byte);
    vocab[InByteAlphabet({&character, 1})] = first++;
  }
  for (const char* token : {"he", "ll", "hell", "Ġw", "hello", "<|endoftext|>"}) {
    vocab[token] = first++;
  }
  return vocab;
}

// The tokenizer.json that Hugging Face would write.
inline nlohmann::json SmallTokenizerJson() {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens",
           nlohmann::json::array({{{"id", 261}, {"content", "<|endoftext|>"}, {"special", true}}})},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"post_processor", {{"type", "ByteLevel"}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", nullptr},
            {"vocab", SmallVocab()},
            {"merges", {"h e", "l l", "he ll", "Ġ w", "hell o"}}}}};
}

}  // namespace gp
