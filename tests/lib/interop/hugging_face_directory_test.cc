#include "interop/hugging_face_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "interop/safetensors_writer.h"
#include "lib/base/temporary_directory.h"
#include "lib/interop/small_model.h"
#include "tokenizer/byte_pair_tokenizer.h"

namespace gp::interop {
namespace {

using ::testing::HasSubstr;

class HuggingFaceDirectory : public ::testing::Test {
 protected:
  // Exports the model to a directory of this name; returns its path.
  std::string Export(const ModelSource& source, const std::string& name,
                     const CopyOptions& options = {}) {
    auto fresh = NewDirectory::Begin(directory_.File(name));
    EXPECT_TRUE(fresh.ok()) << fresh.status();
    const Status written = WriteHuggingFace(source, options, *fresh);
    EXPECT_TRUE(written.ok()) << written;
    EXPECT_TRUE(fresh->Commit().ok());
    return directory_.File(name);
  }

  // Exports the small model's tensors under other names, plus one extra tensor.
  std::string ExportAs(const TensorNames& names, const std::string& extra_name,
                       const std::vector<int64_t>& extra_shape) {
    const std::string target = Export(SmallModel(Unpadded()), "as" + std::to_string(++count_));
    const auto model = OpenHuggingFace(target);
    EXPECT_TRUE(model.ok()) << model.status();
    const std::string path = JoinPath(target, "model.safetensors");
    EXPECT_TRUE(RemoveTree(path).ok());
    EXPECT_TRUE(WriteSafetensors(**model, Unpadded(), names, {}, {}, path).ok());
    if (!extra_name.empty()) AddTensor(path, extra_name, extra_shape);
    return target;
  }

  // Appends a tensor of zeros to the file.
  static void AddTensor(const std::string& path, const std::string& name,
                        const std::vector<int64_t>& shape) {
    const std::string bytes = ReadFile(path).value();
    auto header = formats::ParseSafetensorsHeader(bytes, bytes.size(), path).value();
    std::vector<formats::TensorEntry> tensors = header.tensors;
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    tensors.push_back({.name = name, .dtype = "F32", .shape = shape});
    const std::string data = bytes.substr(header.data_offset);
    ASSERT_TRUE(WriteFileAtomically(path, formats::FormatSafetensorsHeader(tensors, {}) + data +
                                              std::string(static_cast<size_t>(count) * 4, '\0'))
                    .ok());
  }

  static runspec::ModelShape Unpadded() {
    runspec::ModelShape shape = SmallShape();
    shape.vocabulary_padded = shape.vocabulary;
    return shape;
  }

  std::string ErrorOf(const std::string& directory) {
    return Message(OpenHuggingFace(directory).status());
  }

  TemporaryDirectory directory_;
  int count_ = 0;
};

TEST_F(HuggingFaceDirectory, ARoundTripKeepsEveryBit) {
  for (const bool tied : {true, false}) {
    runspec::ModelShape shape = Unpadded();
    shape.tied_head = tied;
    const SmallModel model(shape);
    for (const FloatType type : {FloatType::kF32, FloatType::kBf16}) {
      CopyOptions options;
      options.type = type;
      const std::string name = fmt::format("{}-{}", FloatTypeName(type), tied);
      const auto read = OpenHuggingFace(Export(model, name, options));
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ((*read)->shape(), shape);
      EXPECT_EQ(ReadAll(**read), ReadAll(model)) << name;
    }
  }
}

TEST_F(HuggingFaceDirectory, WhatSpecialTokensAreForComesBack) {
  BytePairVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  vocabulary.tokens.insert(vocabulary.tokens.end(), {"<|BOS|>", "<|EOS|>", "<|PAD|>"});
  vocabulary.special = {256, 257, 258};
  const std::vector<SpecialTokens> all = {
      {.bos = 256, .eos = 257, .pad = 258, .model_bos = 256, .model_eos = {257}, .model_pad = 258},
      // A text also ends at id 10, the line break, which has no special name.
      {.eos = 257, .unk = 256, .model_bos = 258, .model_eos = {257, 10}},
      {.eos = 257, .model_eos = {256}}};
  for (size_t i = 0; i < all.size(); ++i) {
    auto tokenizer = std::make_shared<BytePairTokenizer>(vocabulary);
    tokenizer->set_special_tokens(all[i]);
    const std::string target = Export(SmallModel(Unpadded(), tokenizer), std::to_string(i));
    const auto read = OpenHuggingFace(target);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ((*read)->tokenizer()->special_tokens(), all[i]) << i;
  }
  const auto config = [&](const char* name) {
    return nlohmann::json::parse(ReadFile(directory_.File("1/" + std::string(name))).value());
  };
  for (const char* name : {"config.json", "generation_config.json"}) {
    EXPECT_EQ(config(name)["eos_token_id"], nlohmann::json({257, 10}));
    EXPECT_EQ(config(name)["bos_token_id"], 258);
    EXPECT_EQ(config(name)["pad_token_id"], nullptr);
  }
  EXPECT_EQ(config("tokenizer_config.json")["eos_token"], "<|EOS|>");
  EXPECT_EQ(config("tokenizer_config.json")["bos_token"], nullptr);
}

TEST_F(HuggingFaceDirectory, MatricesLieTransposedAndPaddingIsCutOff) {
  const std::string target = Export(SmallModel(), "hf");
  const auto set = TensorSet::OpenDirectory(target);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->Find("transformer.wte.weight")->shape, (std::vector<int64_t>{259, 12}));
  EXPECT_EQ(set->Find("transformer.h.1.mlp.c_fc.weight")->shape, (std::vector<int64_t>{12, 48}));
  EXPECT_EQ(set->Find("lm_head.weight"), nullptr);
  // The matrix is square, so only its values show that it is transposed.
  std::vector<float> projection(144);
  ASSERT_TRUE(set->Read("transformer.h.0.attn.c_proj.weight", 0, projection).ok());
  EXPECT_EQ(projection[1 * 12 + 5], SmallModel::ValueAt("h.0.attn.c_proj.weight", 5 * 12 + 1));
}

TEST_F(HuggingFaceDirectory, AModelWithoutBiasesGetsZeros) {
  runspec::ModelShape shape = Unpadded();
  shape.bias = false;
  const auto read = OpenHuggingFace(Export(SmallModel(shape), "hf"));
  ASSERT_TRUE(read.ok()) << read.status();
  const auto weights = ReadAll(**read);
  EXPECT_EQ(weights.at("h.0.ln_1.bias"), std::vector<float>(12, 0.f));
  EXPECT_EQ(weights.at("h.0.ln_1.weight")[3], SmallModel::ValueAt("h.0.ln_1.weight", 3));
}

TEST_F(HuggingFaceDirectory, PrefixesAndMasksAreAccepted) {
  for (const char* prefix : {"", "transformer.", "_orig_mod.transformer.", "module.", "model."}) {
    for (const char* mask : {"h.0.attn.bias", "h.1.attn.masked_bias"}) {
      const std::string target = ExportAs({.prefix = prefix, .transposed = true},
                                          std::string(prefix) + mask, {1, 1, 3, 3});
      const auto read = OpenHuggingFace(target);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(ReadAll(**read), ReadAll(SmallModel(Unpadded())));
    }
  }
}

TEST_F(HuggingFaceDirectory, ATiedHeadMustEqualTheEmbedding) {
  const TensorNames names{.prefix = "transformer.", .transposed = true};
  EXPECT_THAT(ErrorOf(ExportAs(names, "lm_head.weight", {259, 12})),
              HasSubstr("'lm_head.weight' differs from 'transformer.wte.weight'"));
  EXPECT_THAT(ErrorOf(ExportAs(names, "lm_head.weight", {12, 259})), HasSubstr("differs"));
}

TEST_F(HuggingFaceDirectory, AWrapperWithinANameIsShown) {
  const std::string target = Export(SmallModel(Unpadded()), "blocks");
  const std::string path = JoinPath(target, "model.safetensors");
  std::string bytes = ReadFile(path).value();
  const auto header = formats::ParseSafetensorsHeader(bytes, bytes.size(), path).value();
  std::vector<formats::TensorEntry> tensors = header.tensors;
  for (formats::TensorEntry& tensor : tensors) {
    const size_t at = tensor.name.find("h.1.");
    if (at != std::string::npos) tensor.name.insert(at + 4, "_orig_mod.");
  }
  const std::string data = bytes.substr(header.data_offset);
  ASSERT_TRUE(WriteFileAtomically(path, formats::FormatSafetensorsHeader(tensors, {}) + data).ok());
  EXPECT_THAT(ErrorOf(target),
              HasSubstr("tensor 'transformer.h.1.attn.c_attn.weight' is missing; the file has "
                        "'transformer.h.1._orig_mod.attn.c_attn.weight'"));
}

TEST_F(HuggingFaceDirectory, AHeadIsFoundAfterTheWrappersPrefix) {
  runspec::ModelShape shape = Unpadded();
  shape.tied_head = false;
  const std::string target = Export(SmallModel(shape), "untied");
  const std::string path = JoinPath(target, "model.safetensors");
  const TensorNames names{
      .prefix = "_orig_mod.transformer.", .head_prefix = "_orig_mod.", .transposed = true};
  ASSERT_TRUE(RemoveTree(path).ok());
  ASSERT_TRUE(WriteSafetensors(SmallModel(shape), shape, names, {}, {}, path).ok());
  const auto read = OpenHuggingFace(target);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->wrappers(), "_orig_mod.");
  EXPECT_EQ(ReadAll(**read), ReadAll(SmallModel(shape)));
  // A tied head below a wrapper's prefix must also equal the embedding.
  const TensorNames tied{.prefix = "_orig_mod.", .transposed = true};
  EXPECT_THAT(ErrorOf(ExportAs(tied, "_orig_mod.lm_head.weight", {259, 12})),
              HasSubstr("'_orig_mod.lm_head.weight' differs from '_orig_mod.wte.weight'"));
}

TEST_F(HuggingFaceDirectory, WhatDoesNotFitTheConfigurationIsNamed) {
  const TensorNames names{.prefix = "transformer.", .transposed = true};
  EXPECT_THAT(ErrorOf(ExportAs(names, "transformer.h.2.ln_1.weight", {12})),
              HasSubstr("tensor 'transformer.h.2.ln_1.weight' belongs to no part of a GPT-2 of 2"));
  EXPECT_THAT(
      ErrorOf(ExportAs({.prefix = "transformer."}, "", {})),
      HasSubstr("tensor 'transformer.h.0.attn.c_attn.weight' is [36, 12], expected [12, 36]"));
  EXPECT_THAT(ErrorOf(ExportAs({.prefix = "encoder.", .transposed = true}, "", {})),
              HasSubstr("tensor 'wte.weight' is missing; the file has 'encoder.wte.weight': write "
                        "it again without the prefix"));
}

TEST_F(HuggingFaceDirectory, AWeightThatIsNotFiniteIsNamedUnlessItIsAskedFor) {
  SmallModel model(Unpadded());
  model.Override("h.1.mlp.c_fc.weight", 7) = std::nanf("");
  CopyOptions take;
  take.not_finite = NotFinite::kTake;
  const auto read = OpenHuggingFace(Export(model, "nan", take));
  ASSERT_TRUE(read.ok()) << read.status();
  const auto layout = runspec::MakeParameterLayout((*read)->shape());
  const runspec::ParameterInfo& tensor = layout.at("h.1.mlp.c_fc.weight");
  std::vector<float> values(static_cast<size_t>(tensor.count));
  const Status status = (*read)->Read(tensor, values);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("tensor 'transformer.h.1.mlp.c_fc.weight' holds nan"));
  EXPECT_THAT(Message(status), HasSubstr("element 7 of 576"));
  EXPECT_TRUE((*read)->Read(tensor, values, NotFinite::kTake).ok());
}

TEST_F(HuggingFaceDirectory, AFailedExportLeavesNothing) {
  SmallModel model;
  model.Override("ln_f.bias", 0) = INFINITY;
  {
    auto fresh = NewDirectory::Begin(directory_.File("bad"));
    ASSERT_TRUE(fresh.ok()) << fresh.status();
    EXPECT_EQ(WriteHuggingFace(model, {}, *fresh).code(), StatusCode::kDataLoss);
  }
  EXPECT_TRUE(ListDirectory(directory_.path())->empty());
}

TEST_F(HuggingFaceDirectory, EveryTruncationIsRefused) {
  for (const char* name : {"config.json", "model.safetensors"}) {
    const std::string target = Export(SmallModel(), std::string("cut ") + name);
    const std::string path = JoinPath(target, name);
    const uint64_t size = FileSize(path).value();
    // The last byte of the configuration is a newline, which JSON does not need.
    for (uint64_t kept = name[0] == 'c' ? size - 1 : size; kept-- > 0;) {
      ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(kept)), 0);
      ASSERT_THAT(ErrorOf(target), HasSubstr(path)) << kept;
    }
  }
}

}  // namespace
}  // namespace gp::interop
