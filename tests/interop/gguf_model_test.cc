// What llama.cpp makes of these files: tests/e2e/interop/gguf_test.py.
#include "interop/gguf_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_directory.h"
#include "interop/checkpoint_model.h"
#include "interop/small_model.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/byte_pair_vocabulary.h"

namespace gp::interop {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Bytes, two letters joined, <|endoftext|>, and " zz", which no merge makes.
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

// llama.cpp looks no piece up.
TEST(GgufModel, ATokenThatNoMergeMakesIsRefused) {
  const TemporaryDirectory directory;
  const Status written = WriteWith(WithWholePieces(true), directory);
  EXPECT_EQ(written.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(written), AllOf(HasSubstr("no merges make the token ' zz' (id 258)"),
                                      HasSubstr("export the model as hf")));
  EXPECT_FALSE(FileExists(directory.File("model.gguf")));
}

}  // namespace
}  // namespace gp::interop
