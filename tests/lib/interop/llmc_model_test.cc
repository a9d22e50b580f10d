#include "interop/llmc_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "lib/interop/small_model.h"

namespace gp::interop {
namespace {

using ::testing::HasSubstr;

class LlmcModelTest : public ::testing::Test {
 protected:
  std::string Export(const ModelSource& source, FloatType type = FloatType::kF32) {
    const std::string path = directory_.File(std::to_string(++count_) + ".bin");
    CopyOptions options;
    options.type = type;
    const Status written = WriteLlmc(source, options, path);
    EXPECT_TRUE(written.ok()) << written;
    return path;
  }

  // llm.c requires the number of embedding rows to be a multiple of 128.
  static runspec::ModelShape Padded() {
    runspec::ModelShape shape = SmallShape();
    shape.vocabulary_padded = 384;
    return shape;
  }

  std::string ErrorWith(const std::string& bytes) {
    const std::string path = directory_.File("changed.bin");
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
    return Message(OpenLlmc(path).status());
  }

  TemporaryDirectory directory_;
  int count_ = 0;
};

std::string WithInt(std::string bytes, size_t index, int32_t value) {
  std::memcpy(bytes.data() + index * 4, &value, sizeof value);
  return bytes;
}

TEST_F(LlmcModelTest, ARoundTripKeepsEveryBit) {
  const SmallModel model(Padded());
  for (const FloatType type : {FloatType::kF32, FloatType::kBf16}) {
    const auto read = OpenLlmc(Export(model, type));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ((*read)->shape(), Padded());
    EXPECT_EQ(ReadAll(**read), ReadAll(model));
  }
}

// The layout of write_model in train_gpt2.py: 256 header numbers, then one tensor after another,
// each for all blocks.
TEST_F(LlmcModelTest, TheLayoutIsThePublishedOne) {
  const std::string bytes = ReadFile(Export(SmallModel(Padded()))).value();
  const int32_t expected[8] = {20240326, 3, 10, 259, 2, 3, 12, 384};
  EXPECT_EQ(std::memcmp(bytes.data(), expected, sizeof expected), 0);
  const auto at = [&](size_t element) {
    float value = 0;
    std::memcpy(&value, bytes.data() + 1024 + element * 4, sizeof value);
    return value;
  };
  const size_t embeddings = 384 * 12 + 10 * 12;
  EXPECT_EQ(at(384 * 12), SmallModel::ValueAt("wpe.weight", 0));
  EXPECT_EQ(at(embeddings), SmallModel::ValueAt("h.0.ln_1.weight", 0));
  EXPECT_EQ(at(embeddings + 12), SmallModel::ValueAt("h.1.ln_1.weight", 0));
  EXPECT_EQ(at(embeddings + 48 + 1), SmallModel::ValueAt("h.0.attn.c_attn.weight", 1));
}

TEST_F(LlmcModelTest, PaddingGrowsToAMultipleOf128) {
  const auto read = OpenLlmc(Export(SmallModel()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->shape().vocabulary, 259);
  EXPECT_EQ((*read)->shape().vocabulary_padded, 384);
  const std::vector<float> embedding = ReadAll(**read).at("wte.weight");
  EXPECT_EQ(embedding[263 * 12], SmallModel::ValueAt("wte.weight", 263 * 12));
  EXPECT_EQ(embedding[264 * 12], 0);
}

TEST_F(LlmcModelTest, WhatLlmcDoesNotComputeIsRefused) {
  runspec::ModelShape shape = Padded();
  shape.gelu = runspec::Gelu::kErf;
  EXPECT_THAT(Message(WriteLlmc(SmallModel(shape), {}, directory_.File("x"))),
              HasSubstr("tanh approximation"));
  shape = Padded();
  shape.tied_head = false;
  EXPECT_THAT(Message(WriteLlmc(SmallModel(shape), {}, directory_.File("x"))), HasSubstr("ties"));
}

TEST_F(LlmcModelTest, LyingHeadersAreNamed) {
  const std::string bytes = ReadFile(Export(SmallModel(Padded()))).value();
  EXPECT_THAT(ErrorWith(WithInt(bytes, 0, 20240520)), HasSubstr("is a token shard of llm.c"));
  EXPECT_THAT(ErrorWith(WithInt(bytes, 0, 7)), HasSubstr("byte 0: 7 is not the number 20240326"));
  EXPECT_THAT(ErrorWith(WithInt(bytes, 1, 1)), HasSubstr("version 1, expected 3 (fp32)"));
  EXPECT_THAT(ErrorWith(WithInt(bytes, 1, 5)), HasSubstr("its header requires"));
  EXPECT_THAT(ErrorWith(WithInt(bytes, 4, -1)), HasSubstr("n_layer is -1"));
  EXPECT_THAT(ErrorWith(WithInt(bytes, 4, 1024)), HasSubstr("its header requires"));
  EXPECT_THAT(ErrorWith(WithInt(bytes, 6, INT32_MAX)), HasSubstr("n_embd is 2147483647"));
  EXPECT_THAT(ErrorWith(WithInt(bytes, 7, 1)), HasSubstr("vocab_padded is 1"));
  EXPECT_THAT(ErrorWith(bytes + "x"), HasSubstr("its header requires"));
}

TEST_F(LlmcModelTest, EveryTruncationIsRefused) {
  const std::string path = Export(SmallModel());
  for (uint64_t size = FileSize(path).value(); size-- > 0;) {
    ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(size)), 0);
    ASSERT_THAT(Message(OpenLlmc(path).status()), HasSubstr(path)) << size;
  }
}

}  // namespace
}  // namespace gp::interop
