#include "interop/model_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "lib/interop/small_model.h"
#include "tokenizer/char_tokenizer.h"

namespace gp::interop {
namespace {

using ::testing::HasSubstr;

class ModelFormatTest : public ::testing::Test {
 protected:
  // Writes a checkpoint of a model and exports it in this format; returns the export's path.
  std::string Export(const runspec::ModelShape& shape, ExportFormat format) {
    const std::string checkpoint = directory_.File("checkpoint" + std::to_string(++count_));
    EXPECT_TRUE(
        WriteCheckpointModel(SmallModel(shape), ByteTokenizer(), "mine", checkpoint, {}).ok());
    const auto opened = OpenCheckpointModel(checkpoint);
    EXPECT_TRUE(opened.ok()) << opened.status();
    const std::string target = directory_.File("export" + std::to_string(count_));
    const Status exported = ExportModel(*opened, format, {}, target);
    EXPECT_TRUE(exported.ok()) << exported;
    return target;
  }

  TemporaryDirectory directory_;
  int count_ = 0;
};

TEST_F(ModelFormatTest, EveryExportIsRecognisedAndHasACard) {
  runspec::ModelShape erf = SmallShape();
  erf.gelu = runspec::Gelu::kErf;
  const std::pair<std::string, ModelFormat> exports[] = {
      {Export(SmallShape(), ExportFormat::kHuggingFace), ModelFormat::kHuggingFace},
      {Export(SmallShape(), ExportFormat::kLlmc), ModelFormat::kLlmc},
      {Export(erf, ExportFormat::kNanoGpt), ModelFormat::kNanoGpt}};
  for (const auto& [target, format] : exports) {
    const auto detected = DetectModelFormat(target);
    ASSERT_TRUE(detected.ok()) << detected.status();
    EXPECT_EQ(*detected, format);
    const auto model = OpenModel(target, format);
    ASSERT_TRUE(model.ok()) << model.status();
    const std::string card = ReadFile(JoinPath(target, "README.md")).value();
    EXPECT_THAT(card, HasSubstr("# mine"));
    EXPECT_THAT(card, HasSubstr("| imported from | small |"));
    EXPECT_THAT(card, HasSubstr("bytes, 256 ids"));
  }
  EXPECT_EQ(*DetectModelFormat(directory_.File("checkpoint1")), ModelFormat::kCheckpoint);
  EXPECT_EQ(*DetectModelFormat(directory_.File("export2/model.bin")), ModelFormat::kLlmc);
}

TEST_F(ModelFormatTest, ARunThatBeginsWithAModelLearnsOfItsTokenizer) {
  const std::string checkpoint = directory_.File("characters");
  const auto characters = CharTokenizer::FromText("abcdefgh");
  ASSERT_TRUE(
      WriteCheckpointModel(SmallModel(SmallShape()), **characters, "mine", checkpoint, {}).ok());
  const auto model = FindModelAt(checkpoint);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->tokenizer, checkpoint) << "a run reads it there";
  EXPECT_TRUE(model->has_tokens_of(checkpoint));
  EXPECT_TRUE(model->has_tokens_of(JoinPath(checkpoint, "tokenizer.json")));
  EXPECT_TRUE(model->has_tokens_of("/gone")) << "what reads it will tell";
  EXPECT_FALSE(model->has_tokens_of("chars")) << "the run's text may have other characters";
  EXPECT_FALSE(model->has_tokens_of("bytes"));
  const auto bare = FindModelAt(Export(SmallShape(), ExportFormat::kLlmc));
  ASSERT_TRUE(bare.ok()) << bare.status();
  EXPECT_EQ(bare->tokenizer, "")
      << "llm.c's file has none, and its vocabulary of 259 ids is not GPT-2's";
  EXPECT_EQ(FindModelAt(directory_.File("checkpoint1"))->tokenizer, "bytes");
}

TEST_F(ModelFormatTest, WhatIsNoModelIsSaidToBeNone) {
  EXPECT_EQ(DetectModelFormat(directory_.File("gone")).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(DetectModelFormat(directory_.path()).status()),
              HasSubstr("is not a model that gp reads"));
}

}  // namespace
}  // namespace gp::interop
