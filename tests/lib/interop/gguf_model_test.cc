// tests/e2e/interop/gguf_test.py tests how llama.cpp reads these files.
#include "interop/gguf_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "base/file.h"
#include "interop/checkpoint_model.h"
#include "lib/base/temporary_directory.h"
#include "lib/interop/small_model.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/byte_pair_vocabulary.h"

namespace gp::interop {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A tokenizer of the 256 bytes, the merge "zz", <|endoftext|> and, if `whole_pieces`, the token "
// zz", which no merge produces.
BytePairTokenizer WithWholePieces(bool whole_pieces) {
  BytePairVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  vocabulary.tokens.insert(vocabulary.tokens.end(), {"zz", kEndOfText});
  vocabulary.merges = {{'z', 'z', 256}};
  vocabulary.special = {257};
  vocabulary.whole_pieces = whole_pieces;
  if (whole_pieces) vocabulary.tokens.push_back(" zz");
  return BytePairTokenizer(std::move(vocabulary));
}

Status WriteWith(const Tokenizer& tokenizer, const TemporaryDirectory& directory) {
  const std::string checkpoint = directory.File("checkpoint");
  RETURN_IF_ERROR(
      WriteCheckpointModel(SmallModel(SmallShape()), tokenizer, "mine", checkpoint, {}));
  ASSIGN_OR_RETURN(const CheckpointModel opened, OpenCheckpointModel(checkpoint));
  return WriteGguf(*opened.model, "mine", {}, directory.File("model.gguf"));
}

TEST(GgufModel, HoldsTokensAndMerges) {
  const TemporaryDirectory directory;
  const Status written = WriteWith(WithWholePieces(false), directory);
  ASSERT_TRUE(written.ok()) << written;
  EXPECT_THAT(ReadFile(directory.File("model.gguf")).value(),
              AllOf(HasSubstr("tokenizer.ggml.merges"), HasSubstr("z z"), HasSubstr("gpt-2"),
                    HasSubstr(kEndOfText)));
}

// The value of a key of type u32; nullopt if it is absent.
std::optional<uint32_t> IdIn(const std::string& file, const std::string& key) {
  const size_t at = file.find(key);
  if (at == std::string::npos) return std::nullopt;
  uint32_t id = 0;
  std::memcpy(&id, file.data() + at + key.size() + sizeof(uint32_t), sizeof id);
  return id;
}

TEST(GgufModel, NamesSpecialTokens) {
  const TemporaryDirectory directory;
  BytePairTokenizer tokenizer = WithWholePieces(false);
  tokenizer.set_special_tokens(
      {.bos = 1, .eos = 2, .pad = 3, .model_bos = 4, .model_eos = {257, 2}, .model_pad = 5});
  ASSERT_TRUE(WriteWith(tokenizer, directory).ok());
  const std::string file = ReadFile(directory.File("model.gguf")).value();
  EXPECT_EQ(IdIn(file, "tokenizer.ggml.bos_token_id"), 1u);
  EXPECT_EQ(IdIn(file, "tokenizer.ggml.eos_token_id"), 257u);
  EXPECT_EQ(IdIn(file, "tokenizer.ggml.eot_token_id"), 2u);
  EXPECT_EQ(IdIn(file, "tokenizer.ggml.padding_token_id"), 3u);
  EXPECT_EQ(IdIn(file, "tokenizer.ggml.unknown_token_id"), std::nullopt);
  EXPECT_EQ(IdIn(file, "tokenizer.ggml.eom_token_id"), std::nullopt);
}

TEST(GgufModel, MoreEndsThanLlamaCppHasNamesForAreRefused) {
  const TemporaryDirectory directory;
  BytePairTokenizer tokenizer = WithWholePieces(false);
  tokenizer.set_special_tokens({.model_eos = {1, 2, 3, 4}});
  EXPECT_THAT(Message(WriteWith(tokenizer, directory)),
              HasSubstr("llama.cpp supports at most 3 end-of-text tokens"));
}

// llama.cpp builds tokens by merges only and never looks up a whole piece.
TEST(GgufModel, ATokenThatNoMergeMakesIsRefused) {
  const TemporaryDirectory directory;
  const Status written = WriteWith(WithWholePieces(true), directory);
  EXPECT_EQ(written.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(written), AllOf(HasSubstr("no merge produces the token ' zz' (id 258)"),
                                      HasSubstr("export the model as hf")));
  EXPECT_FALSE(FileExists(directory.File("model.gguf")));
}

}  // namespace
}  // namespace gp::interop
