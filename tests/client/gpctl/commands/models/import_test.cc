// gpctl import and export, without a service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/gpctl/gpctl_runner.h"
#include "interop/hugging_face_directory.h"
#include "interop/new_directory.h"
#include "interop/safetensors_writer.h"
#include "lib/interop/small_model.h"

namespace gp::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ModelCommandTest : public ::testing::Test {
 protected:
  // Writes a Hugging Face directory called `name`.
  void MakeHuggingFace(const std::string& name, const interop::ModelSource& model,
                       interop::NotFinite not_finite = interop::NotFinite::kRefuse) {
    auto fresh = interop::NewDirectory::Begin(Path(name));
    ASSERT_TRUE(fresh.ok()) << fresh.status();
    interop::CopyOptions options;
    options.not_finite = not_finite;
    ASSERT_TRUE(interop::WriteHuggingFace(model, options, *fresh).ok());
    ASSERT_TRUE(fresh->Commit().ok());
  }

  std::string Path(const std::string& name) { return JoinPath(gpctl_.home(), name); }
  Outcome Run(const std::vector<std::string>& arguments) { return gpctl_.Run(arguments); }
  // Runs `gpctl import` with paths in the test's home.
  Outcome Import(const std::string& from, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"import", Path(from),   "--name",      "mine",
                                          "--to",   Path("mine"), "--tokenizer", "bytes"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }

  GpctlRunner gpctl_;
};

TEST_F(ModelCommandTest, AnImportedModelIsExportedAgain) {
  MakeHuggingFace("hf", interop::SmallModel());
  const Outcome imported = Import("hf");
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("2 blocks, 12 channels, context 10, 259 ids"));
  EXPECT_THAT(imported.out, HasSubstr("sample " + Path("mine")));
  EXPECT_EQ(Run({"ckpt", "verify", Path("mine")}).code, 0);
  const Outcome exported = Run({"-o", "json", "export", Path("mine"), Path("out")});
  EXPECT_EQ(exported.code, 0) << exported.err;
  const auto document = nlohmann::json::parse(exported.out);
  EXPECT_EQ(document["kind"], "ExportedModel");
  EXPECT_EQ(document["directory"], Path("out"));
  EXPECT_EQ(ReadFile(Path("hf/model.safetensors")).value(),
            ReadFile(Path("out/model.safetensors")).value());
}

TEST_F(ModelCommandTest, ADirectoryThatIsThereIsNotOverwritten) {
  MakeHuggingFace("hf", interop::SmallModel());
  EXPECT_EQ(Import("hf").code, 0);
  const Outcome again = Import("hf");
  EXPECT_EQ(again.code, 5);
  EXPECT_THAT(again.err, HasSubstr("exists already"));
}

TEST_F(ModelCommandTest, AWeightThatIsNotFiniteIsTakenOnlyWhenAskedFor) {
  interop::SmallModel model;
  model.Override("ln_f.weight", 2) = INFINITY;
  MakeHuggingFace("hf", model, interop::NotFinite::kTake);
  const Outcome refused = Import("hf");
  EXPECT_EQ(refused.code, 9);
  EXPECT_THAT(refused.err, HasSubstr("tensor 'transformer.ln_f.weight' holds inf"));
  EXPECT_FALSE(FileExists(Path("mine")));
  EXPECT_EQ(Import("hf", {"--allow-nonfinite"}).code, 0);
}

TEST_F(ModelCommandTest, WhatIsNoModelAndWhoHasNoTokenizerIsSaid) {
  EXPECT_EQ(Import("gone").code, 3);
  MakeHuggingFace("hf", interop::SmallModel());
  for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt"}) {
    ASSERT_TRUE(RemoveTree(Path("hf") + "/" + name).ok());
  }
  const Outcome without = Run({"import", Path("hf"), "--name", "mine", "--to", Path("mine")});
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, HasSubstr("has no tokenizer"));
}

TEST_F(ModelCommandTest, APrefixThatWasTakenOffIsTold) {
  MakeHuggingFace("hf", interop::SmallModel());
  EXPECT_THAT(Import("hf").out, Not(HasSubstr("names")));
  const std::string weights = Path("hf/model.safetensors");
  ASSERT_TRUE(RemoveTree(weights).ok());
  ASSERT_TRUE(RemoveTree(Path("mine")).ok());
  runspec::ModelShape shape = interop::SmallShape();
  shape.vocabulary_padded = shape.vocabulary;
  const interop::TensorNames names{.prefix = "_orig_mod.transformer.", .transposed = true};
  ASSERT_TRUE(interop::WriteSafetensors(interop::SmallModel(), shape, names, {}, {}, weights).ok());
  const Outcome imported = Import("hf");
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_THAT(imported.out,
              HasSubstr("names        without '_orig_mod.', the prefix that a wrapper added"));
  ASSERT_TRUE(RemoveTree(Path("mine")).ok());
  EXPECT_EQ(nlohmann::json::parse(Import("hf", {"-o", "json"}).out)["removed_prefix"],
            "_orig_mod.");
}

TEST_F(ModelCommandTest, AModelThatIsNoCheckpointSaysHowToImportIt) {
  MakeHuggingFace("hf", interop::SmallModel());
  const std::string command = "gpctl import " + Path("hf") + " --name imported";
  for (const char* reads : {"sample", "eval", "serve"}) {
    const Outcome refused = Run({reads, "./hf"});
    EXPECT_EQ(refused.code, 3) << reads;
    EXPECT_THAT(refused.err, HasSubstr(command)) << reads;
    // Without a '/' the reference means a run.
    EXPECT_THAT(Run({reads, "hf"}).err, HasSubstr("the directory of that name is ./hf")) << reads;
  }
  EXPECT_THAT(Run({"export", "./hf", Path("out")}).err, HasSubstr(command));
  EXPECT_EQ(Run({"import", Path("hf"), "--name", "imported", "--tokenizer", "bytes"}).code, 0);
}

// `gpctl import` takes a model's directory, not one of its files.
TEST_F(ModelCommandTest, AFileOfAModelSaysHowToImportItsDirectory) {
  MakeHuggingFace("hf", interop::SmallModel());
  const std::string command = "gpctl import " + Path("hf") + " --name imported";
  for (const char* name : {"model.safetensors", "config.json"}) {
    const std::string file = Path("hf") + "/" + name;
    for (const char* reads : {"sample", "eval", "serve", "chat"}) {
      EXPECT_THAT(Run({reads, file}).err, HasSubstr(command)) << reads;
    }
    EXPECT_THAT(Run({"export", file, Path("out")}).err, HasSubstr(command));
    EXPECT_THAT(Run({"import", file, "--name", "imported"}).err,
                HasSubstr("name the directory: " + Path("hf")));
  }
  ASSERT_EQ(
      Run({"import", Path("hf"), "--name", "i", "--tokenizer", "bytes", "--to", Path("i")}).code,
      0);
  for (const char* reads : {"sample", "eval", "serve"}) {
    EXPECT_THAT(Run({reads, Path("i") + "/model.safetensors"}).err,
                HasSubstr("name its directory: " + Path("i")));
  }
  EXPECT_EQ(Run({"export", Path("i"), Path("out")}).code, 0);
}

TEST_F(ModelCommandTest, ContradictionsAboutSpecialTokensAreSaid) {
  MakeHuggingFace("hf", interop::SmallModel());
  const auto write = [this](const char* name, const char* text) {
    ASSERT_TRUE(WriteFileAtomically(Path("hf") + "/" + name, text).ok());
  };
  write("added_tokens.json", R"({"<a>": 256, "<b>": 257})");
  write("special_tokens_map.json", R"({"eos_token": "<a>", "pad_token": "<b>"})");
  write("generation_config.json", R"({"eos_token_id": 257, "pad_token_id": 999})");
  const Outcome imported = Run({"import", Path("hf"), "--name", "mine", "--to", Path("mine")});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_THAT(imported.err,
              AllOf(HasSubstr("warning: the model's eos_token_id is '<b>' (257), the tokenizer's "
                              "eos_token '<a>' (256)"),
                    HasSubstr("warning: generation_config.json: pad_token_id names the id 999")));
}

// The spelling of </s> suggests that it ends texts, but the model's configuration names no end.
TEST_F(ModelCommandTest, AGuessedEndIsSaidAndNotExported) {
  MakeHuggingFace("hf", interop::SmallModel());
  const auto write = [this](const char* name, const char* text) {
    ASSERT_TRUE(WriteFileAtomically(Path("hf") + "/" + name, text).ok());
  };
  write("added_tokens.json", R"({"</s>": 256})");
  write("special_tokens_map.json", R"({"additional_special_tokens": ["</s>"]})");
  write("generation_config.json", R"({"eos_token_id": null})");
  const Outcome imported = Run({"import", Path("hf"), "--name", "mine", "--to", Path("mine")});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_THAT(
      imported.err,
      HasSubstr("warning: the model's eos_token_id is null, and '</s>' (256) is recognised only by "
                "its spelling: generated texts do not end at it; it only separates documents"));
  EXPECT_EQ(Run({"export", Path("mine"), Path("out")}).code, 0);
  const auto exported = [&](const std::string& name) {
    return nlohmann::json::parse(ReadFile(Path("out/" + name)).value());
  };
  EXPECT_EQ(exported("config.json")["eos_token_id"], nullptr);
  EXPECT_EQ(exported("generation_config.json")["eos_token_id"], nullptr);
  EXPECT_FALSE(exported("tokenizer_config.json").contains("eos_token"));
}

// The configuration defines where texts end, for any tokenizer.
TEST_F(ModelCommandTest, AnotherTokenizerKeepsTheModelsEnd) {
  MakeHuggingFace("hf", interop::SmallModel());
  ASSERT_TRUE(
      WriteFileAtomically(Path("hf/generation_config.json"), R"({"eos_token_id": 10})").ok());
  EXPECT_EQ(Import("hf").code, 0);
  EXPECT_THAT(ReadFile(Path("mine/tokenizer.json")).value(), HasSubstr("\"model_eos\":[10]"));
}

// The model has 259 ids; the tokenizer has 256 bytes and the four added tokens.
TEST_F(ModelCommandTest, TokensThatTheModelHasNoRowsForAreNamed) {
  MakeHuggingFace("hf", interop::SmallModel());
  const auto write = [this](const char* name, const char* text) {
    ASSERT_TRUE(WriteFileAtomically(Path("hf") + "/" + name, text).ok());
  };
  write("special_tokens_map.json",
        R"({"additional_special_tokens": ["<a>", "<b>", "<c>", "<d>"]})");
  write("added_tokens.json", R"({"<a>": 256, "<b>": 257, "<c>": 258, "<d>": 259})");
  const Outcome refused = Run({"import", Path("hf"), "--name", "mine", "--to", Path("mine")});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("the tokenizer has 260 ids"), HasSubstr("only 259"),
                                 HasSubstr("remove token '<d>' and all later ones")));
}

}  // namespace
}  // namespace gp::testing
