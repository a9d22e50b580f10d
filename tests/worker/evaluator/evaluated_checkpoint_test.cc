#include "worker/evaluator/evaluated_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/random_id.h"
#include "tokenizer/byte_tokenizer.h"
#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/fakes/random_checkpoint.h"
#include "worker/evaluator/choice_scorer.h"

namespace gp::engine {
namespace {

using testing::HasSubstr;

// A run's directory with a checkpoint of a small model of bytes.
class EvaluatedCheckpointTest : public testing::Test {
 protected:
  EvaluatedCheckpointTest()
      : checkpoint_(WriteRandomCheckpoint(JoinPath(run_, "checkpoints"), 5)) {}
  ~EvaluatedCheckpointTest() override { EXPECT_TRUE(RemoveTree(run_).ok()); }

  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = JoinPath(run_, name);
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }

  EvaluatedCheckpoint Open(EvaluationOptions options = {}) const {
    auto checkpoint = EvaluatedCheckpoint::Open(run_, std::move(options));
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
    return *std::move(checkpoint);
  }

  std::string ErrorOf(const std::vector<std::string>& files) const {
    return Message(Open().Validate({files}).status());
  }

  const std::string run_ = testing::TempDir() + "gp-evaluated-" + RandomId(8);
  const std::string checkpoint_;
  const std::string text_ = "It was a dark and stormy night; the caf\u00e9 was closed.";
};

// The loss computed window by window with the model that was saved.
double LossOf(const std::string& text, int64_t window) {
  const auto model = MakeRandomModel();
  const std::vector<int32_t> tokens = ByteTokenizer().Encode(text).value();
  double loss = 0;
  for (int64_t first = 0; first + 1 < std::ssize(tokens); first += window) {
    const auto size = static_cast<size_t>(std::min(window, std::ssize(tokens) - 1 - first));
    const auto all = std::span(tokens).subspan(static_cast<size_t>(first));
    loss += model->Loss({all.first(size), all.subspan(1, size), 1, std::ssize(all.first(size))});
  }
  return loss / static_cast<double>(tokens.size() - 1);
}

TEST_F(EvaluatedCheckpointTest, TheLossOnATextIsThatOfItsWindows) {
  const auto evaluation = Open().Validate({{Write("text.txt", text_)}});
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  // The tolerance is needed because the order of fp32 sums depends on the other rows in the
  // product.
  EXPECT_NEAR(evaluation->loss, LossOf(text_, kRandomModelShape.context), 1e-5);
  EXPECT_EQ(evaluation->tokens, std::ssize(text_) - 1);
  EXPECT_EQ(evaluation->bytes, evaluation->tokens) << "a token is a byte";
}

TEST_F(EvaluatedCheckpointTest, ShardsOfTheTextHaveTheSameLoss) {
  std::string tokens;  // nanoGPT's format: 16 bits per token
  for (const char byte : text_) tokens += {byte, '\0'};
  const std::string shard = Write("tokens.bin", tokens);
  EXPECT_THAT(ErrorOf({shard}), HasSubstr("looks like text in UTF-16LE, expected tokens"));
  EXPECT_EQ(Open().Validate({{shard}, runspec::DataFormat::kUint16})->loss,
            Open().Validate({{Write("text.txt", text_)}})->loss);
}

TEST_F(EvaluatedCheckpointTest, AFileThatLooksLikeSomethingElseIsTakenWhenTheUserSaysSo) {
  const std::string json = Write("a.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n");
  EXPECT_THAT(ErrorOf({json}), HasSubstr("looks like lines of JSON, expected text; --as txt"));
  EXPECT_TRUE(Open().Validate({{json}, runspec::DataFormat::kText}).ok());
  EXPECT_THAT(ErrorOf({Write("text.bin", text_)}), HasSubstr("text belongs in data.text"));
}

TEST_F(EvaluatedCheckpointTest, TokensAreTakenFromFilesOfAnyNameWhenTheUserSaysSo) {
  std::string tokens;
  for (const char byte : text_) tokens += {byte, '\0'};
  const double loss =
      Open().Validate({{Write("text.bin", tokens)}, runspec::DataFormat::kUint16})->loss;
  for (const char* name : {"val", "val.tokens", "val.txt", "val.u16"}) {
    const auto evaluation = Open().Validate({{Write(name, tokens)}, runspec::DataFormat::kUint16});
    ASSERT_TRUE(evaluation.ok()) << name << ": " << evaluation.status();
    EXPECT_EQ(evaluation->loss, loss) << name;
  }
  // Several files can be given together, and a text file may have the name of a shard.
  const auto both =
      Open().Validate({{Write("a.bin", tokens), Write("b", tokens)}, runspec::DataFormat::kUint16});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->tokens, 2 * std::ssize(text_) - 1);
  EXPECT_TRUE(Open().Validate({{Write("text.bin", text_)}, runspec::DataFormat::kText}).ok());
}

TEST_F(EvaluatedCheckpointTest, WithoutAFileTheRunsOwnSplitIsTakenInItsOwnWindows) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += text_;
  const std::string path = Write("text.txt", text);
  Write("resolved.yaml",
        "apiVersion: gp/v1\nname: r\nmodel: {n_layer: 1, n_head: 2, n_embd: 16, n_ctx: 8}\n"
        "data: {text: ['" +
            path +
            "'], tokenizer: bytes, val_fraction: 0.25}\n"
            "batch: {micro_batch: 2, sequence: 4}\nbudget: {steps: 1}\n");
  const auto evaluation = Open().Validate({});
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  const std::string held_out = text.substr(text.size() - text.size() / 4);
  EXPECT_EQ(evaluation->tokens, std::ssize(held_out) - 1);
  EXPECT_NEAR(evaluation->loss, LossOf(held_out, 4), 1e-5);
}

TEST_F(EvaluatedCheckpointTest, WhatCannotBeEvaluatedOnIsToldInWords) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("name a text or shards with --file"));
  EXPECT_THAT(ErrorOf({"/nowhere.txt"}), HasSubstr("/nowhere.txt"));
  EXPECT_THAT(ErrorOf({Write("one.txt", "1")}), HasSubstr("needs at least 2"));
  EXPECT_THAT(ErrorOf({Write("a.txt", text_), Write("b.bin", text_)}),
              HasSubstr("files of one kind"));
  Write("resolved.yaml", "nonsense: 1\n");
  EXPECT_THAT(ErrorOf({}), HasSubstr("resolved.yaml"));
  EXPECT_EQ(EvaluatedCheckpoint::Open("/nowhere", {}).status().code(), StatusCode::kNotFound);
}

TEST_F(EvaluatedCheckpointTest, QuestionsAreScoredAndProgressIsTold) {
  tasks::ChoiceFile file{.path = "q", .form = tasks::ChoiceForm::kOwn};
  for (int i = 0; i < 50; ++i) {
    file.items.push_back({.line = i + 1,
                          .context = std::string(1, static_cast<char>('a' + i % 26)),
                          .endings = {"b", "cd", "e"},
                          .label = i % 3});
  }
  std::vector<int64_t> done;
  int64_t all = 0;
  auto checkpoint = Open({.progress = [&](int64_t batches, int64_t of) {
    done.push_back(batches);
    all = of;
  }});
  const auto result = checkpoint.Choose(file, tasks::ChoiceStyle::kCompletion);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(done.back(), all);
  const auto rows = tasks::EncodeChoices(file, tasks::ChoiceStyle::kCompletion, ByteTokenizer(), 8);
  const auto model = MakeRandomModel();
  const auto nats = ChoiceScorer(*rows, 1).Score(*model, *MakeLocalGroup(1, 1)[0]);
  for (size_t i = 0; i < nats.size(); ++i) {
    EXPECT_NEAR(result->items[i / 3].nats[i % 3], nats[i], 1e-5);
  }
}

}  // namespace
}  // namespace gp::engine
