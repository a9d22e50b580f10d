#include "interop/nanogpt_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "interop/safetensors_writer.h"
#include "interop/tensor_set.h"
#include "lib/base/temporary_directory.h"
#include "lib/interop/small_model.h"

namespace gp::interop {
namespace {

using ::testing::HasSubstr;

runspec::ModelShape NanoGptShape() {
  runspec::ModelShape shape = SmallShape();
  shape.gelu = runspec::Gelu::kErf;
  shape.bias = false;
  shape.vocabulary = shape.vocabulary_padded;
  return shape;
}

TEST(NanoGptDirectory, ARoundTripKeepsEveryBit) {
  TemporaryDirectory directory;
  const SmallModel model(NanoGptShape());
  auto fresh = NewDirectory::Begin(directory.File("out"));
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  ASSERT_TRUE(WriteNanoGpt(model, {}, *fresh).ok());
  ASSERT_TRUE(fresh->Commit().ok());
  EXPECT_TRUE(IsNanoGpt(directory.File("out")));
  const auto read = OpenNanoGpt(directory.File("out"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->shape(), NanoGptShape());
  EXPECT_EQ(ReadAll(**read), ReadAll(model));
  // Matrices have the orientation of torch.nn.Linear.
  const auto set = TensorSet::OpenDirectory(directory.File("out"));
  EXPECT_EQ(set->Find("transformer.h.0.mlp.c_fc.weight")->shape, (std::vector<int64_t>{48, 12}));
}

// nanoGPT compiles its model before training, which adds a prefix to the names.
TEST(NanoGptDirectory, ACompiledModelsPrefixIsTakenOff) {
  TemporaryDirectory directory;
  const SmallModel model(NanoGptShape());
  auto fresh = NewDirectory::Begin(directory.File("out"));
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  ASSERT_TRUE(WriteNanoGpt(model, {}, *fresh).ok());
  ASSERT_TRUE(fresh->Commit().ok());
  const std::string path = directory.File("out/model.safetensors");
  ASSERT_TRUE(RemoveTree(path).ok());
  const TensorNames names{.prefix = "_orig_mod.transformer."};
  ASSERT_TRUE(WriteSafetensors(model, model.shape(), names, {}, {}, path).ok());
  const auto read = OpenNanoGpt(directory.File("out"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->wrappers(), "_orig_mod.");
  EXPECT_EQ(ReadAll(**read), ReadAll(model));
}

TEST(NanoGptDirectory, WhatNanoGptDoesNotComputeIsRefused) {
  TemporaryDirectory directory;
  auto fresh = NewDirectory::Begin(directory.File("out"));
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  EXPECT_THAT(Message(WriteNanoGpt(SmallModel(), {}, *fresh)), HasSubstr("exact gelu"));
}

TEST(NanoGptDirectory, ArgumentsThatAreMissingAreNamed) {
  TemporaryDirectory directory;
  ASSERT_TRUE(WriteFileAtomically(directory.File("model_args.json"), "{\"n_layer\": 2}").ok());
  EXPECT_THAT(Message(OpenNanoGpt(directory.path()).status()), HasSubstr("'n_head' is missing"));
}

TEST(NanoGptDirectory, ArgumentsInAnotherEncodingAreNamedWithTheCommand) {
  TemporaryDirectory directory;
  const std::string path = directory.File("model_args.json");
  ASSERT_TRUE(WriteFileAtomically(path, std::string("\xfe\xff\0{\0}", 6)).ok());
  EXPECT_THAT(Message(OpenNanoGpt(directory.path()).status()),
              HasSubstr("is text in UTF-16, expected a JSON object; convert it: iconv -f UTF-16 -t "
                        "UTF-8 " +
                        path));
}

}  // namespace
}  // namespace gp::interop
