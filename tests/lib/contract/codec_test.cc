#include "contract/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gp::link {
namespace {

Start FullStart() {
  Start start;
  start.run_id = "7f3k2q9a0c";
  start.run_name = "demo";
  start.epoch = 3;
  start.rank = 1;
  start.world_size = 2;
  start.resolved = "name: \"d\u00e9mo\"\n";
  start.run_directory = "/runs/7f3k2q9a0c";
  start.data_address = "127.0.0.1";
  start.resume = contract::ResumePoint{250, "/runs/7f3k2q9a0c/checkpoints/step-00000250", "ab12"};
  start.threads = 2;
  start.logical_shards = 4;
  start.isa = "avx2";
  start.kernels = {{"matmul", "packed"}};
  return start;
}

StepReport FullReport() {
  StepReport report;
  report.point.epoch = 3;
  report.point.step = 12;
  report.point.tokens = 4096;
  report.point.loss = 4.125;
  report.point.learning_rate = 1e-3;
  report.point.gradient_norm = 1.5;
  report.point.step_seconds = 0.25;
  report.point.tokens_per_second = 1024;
  report.point.mfu = 0.5;
  report.point.phases = {0.01, 0.08, 0.1, 0.02, 0.03, 0.01};
  report.point.validation_loss = 4.5;
  report.point.skipped = true;
  report.point.at_us = 1790000000000000;
  report.point.target_steps = 2000;
  report.point.peak_flops = 4.6e11;
  report.point.peak_source = "measured";
  report.point.warning = "the first loss is far away";
  report.rank.failed_saves = 2;
  return report;
}

Generate FullGenerate() {
  Generate generate;
  generate.request = 7;
  generate.prompt = {15496, 995};
  generate.max_tokens = 20;
  generate.temperature = 0.8;
  generate.top_k = 40;
  generate.top_p = 0.9;
  generate.min_p = 0.05;
  generate.presence_penalty = 0.5;
  generate.frequency_penalty = -0.5;
  generate.logit_bias = {{50256, -100}, {7, 1.5}};
  generate.seed = 1337;
  generate.sample = 3;
  generate.stop = {"\n\n", "d\u00e9mo"};
  generate.logprobs = 2;
  generate.score_prompt = true;
  generate.ignore_end_of_text = true;
  generate.continues_prompt = true;
  return generate;
}

TextPiece FullPiece() {
  const TokenScore score{-0.5, {11, 12}, {-0.5, -1.5}};
  return {7, " w\u00f6rld", {995, 11}, {score, score}, {score}, "length", "why"};
}

std::vector<Message> OneOfEach() {
  return {Hello{1, 1, "0.1.0", "c0ffee"},
          FullStart(),
          Configure{3,
                    1,
                    {"127.0.0.1:1", "127.0.0.1:2"},
                    "secret",
                    "avx2",
                    {{{"avx2", "choices"}}},
                    "00ff",
                    true},
          Go{3},
          Stop{"cancelled", 30000},
          SealResult{250, true, ""},
          Listening{"127.0.0.1:4711", {{"avx512", "avx2"}}, {{{"avx2", "choices"}}}, "00ff"},
          Ready{3, 250},
          FullReport(),
          CheckpointReport{{250, "/c", "ab", 1u << 20, 1.5, true, "stopped early"}, 3},
          Finished{3, 2000},
          Failed{contract::ExitCause::kStorage, "disk full"},
          Stopped{3, 12, "SIGTERM"},
          Waiting{3, "no room"},
          OpenModel{"/c", "bf16", 2, 8, 1u << 30},
          FullGenerate(),
          Withdraw{7},
          ModelReady{250, "bf16", "cpu avx2", 8, 1024, 50257, 1u << 29, true},
          Generated{{FullPiece()}},
          Beat{2, 77, 1, 3, 250},
          Held{3, 12, true, "rank 1 closed"}};
}

StatusOr<Message> Decode(const std::string& frame) {
  const auto header = DecodeHeader(frame);
  if (!header.ok()) return header.status();
  return DecodePayload(header->type, std::string_view(frame).substr(kHeaderBytes));
}

std::string Payload(const Message& message) { return EncodeFrame(message).substr(kHeaderBytes); }

TEST(LinkCodec, EveryMessageComesBackWithAllItsFields) {
  const auto messages = OneOfEach();
  ASSERT_EQ(messages.size(), std::variant_size_v<Message>);
  for (const Message& message : messages) {
    const auto decoded = Decode(EncodeFrame(message));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->index(), message.index());
    // Encoding writes every field, so equal payloads mean equal fields.
    EXPECT_EQ(Payload(*decoded), Payload(message));
  }
}

TEST(LinkCodec, KeepsTheFieldsOfAStepReport) {
  const auto decoded = Decode(EncodeFrame(FullReport()));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const auto& report = std::get<StepReport>(*decoded);
  EXPECT_EQ(report.point.step, 12);
  EXPECT_EQ(report.point.phases.backward, 0.1);
  EXPECT_EQ(report.point.validation_loss, 4.5);
  EXPECT_TRUE(report.point.skipped);
}

TEST(LinkCodec, TypeNumbersAreTheOnesInTheFormatPage) {
  EXPECT_EQ(TypeOf(Hello{}), 1);
  EXPECT_EQ(TypeOf(Go{}), 4);
  EXPECT_EQ(TypeOf(Stop{}), 6);
  EXPECT_EQ(TypeOf(SealResult{}), 7);
  EXPECT_EQ(TypeOf(Failed{}), 14);
  EXPECT_EQ(TypeOf(Stopped{}), 15);
  EXPECT_EQ(TypeOf(Waiting{}), 16);
  EXPECT_EQ(TypeOf(OpenModel{}), 17);
  EXPECT_EQ(TypeOf(Ready{}), 9);
  EXPECT_EQ(TypeOf(StepReport{}), 11);
  EXPECT_EQ(TypeOf(Generated{}), 21);
  EXPECT_EQ(TypeOf(Beat{}), 22);
  EXPECT_EQ(TypeOf(Held{}), 23);
}

TEST(LinkCodec, KeepsTheFieldsOfATextsPieces) {
  const auto decoded = Decode(EncodeFrame(Generated{{FullPiece(), TextPiece{.request = 8}}}));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const auto& pieces = std::get<Generated>(*decoded).pieces;
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].tokens, (std::vector<int32_t>{995, 11}));
  EXPECT_EQ(pieces[0].scores[1].top_logprobs[1], -1.5);
  EXPECT_EQ(pieces[0].finish, "length");
  EXPECT_EQ(pieces[1].request, 8u);
  EXPECT_FALSE(pieces[1].finish);
}

TEST(LinkCodec, KeepsTheBiasOfEveryId) {
  const auto decoded = Decode(EncodeFrame(FullGenerate()));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(std::get<Generate>(*decoded).logit_bias, FullGenerate().logit_bias);
}

TEST(LinkCodec, AKeyThatIsNoIdIsRefused) {
  std::string payload = Payload(FullGenerate());
  const size_t key = payload.find("\"50256\"");
  ASSERT_NE(key, std::string::npos);
  payload.replace(key, 7, "\"5025x\"");
  const auto decoded = DecodePayload(TypeOf(Generate{}), payload);
  EXPECT_EQ(decoded.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(gp::Message(decoded.status()), testing::HasSubstr("Generate.logit_bias"));
}

TEST(LinkCodec, ANumberThatIsNotFiniteArrivesAsNotANumber) {
  StepReport report = FullReport();
  report.point.loss = std::numeric_limits<double>::infinity();
  const auto decoded = Decode(EncodeFrame(report));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(std::isnan(std::get<StepReport>(*decoded).point.loss));
}

TEST(LinkCodec, BytesThatAreNotUtf8AreReplaced) {
  const auto decoded = Decode(EncodeFrame(Stop{"\xff"}));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(std::get<Stop>(*decoded).reason, "\xef\xbf\xbd");
}

TEST(LinkCodec, EveryTruncationOfEveryPayloadIsRefused) {
  for (const Message& message : OneOfEach()) {
    const std::string payload = Payload(message);
    for (size_t size = 0; size < payload.size(); ++size) {
      const auto decoded = DecodePayload(TypeOf(message), payload.substr(0, size));
      ASSERT_EQ(decoded.status().code(), StatusCode::kDataLoss) << payload.substr(0, size);
    }
  }
}

TEST(LinkCodec, NamesTheFieldThatIsMissing) {
  const auto decoded = DecodePayload(TypeOf(Ready{}), R"({"epoch": 1})");
  EXPECT_EQ(decoded.status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(gp::Message(decoded.status()), "Ready.step is missing");
}

TEST(LinkCodec, NamesTheFieldOfTheWrongType) {
  for (const char* payload :
       {R"({"epoch": 1, "step": "2"})", R"({"epoch": 1, "step": 1.5})",
        R"({"epoch": 1, "step": 9223372036854775808})", R"({"epoch": 1, "step": null})"}) {
    const auto decoded = DecodePayload(TypeOf(Ready{}), payload);
    EXPECT_EQ(decoded.status().code(), StatusCode::kDataLoss) << payload;
    EXPECT_NE(gp::Message(decoded.status()).find("Ready.step"), std::string::npos);
  }
}

TEST(LinkCodec, NamesANestedField) {
  std::string payload = Payload(FullReport());
  payload.replace(payload.find("\"backward\""), 10, "\"backwurd\"");
  EXPECT_EQ(gp::Message(DecodePayload(TypeOf(StepReport{}), payload).status()),
            "StepReport.phases.backward is missing");
}

TEST(LinkCodec, RefusesNegativeEpochsAndRanksOutOfRange) {
  EXPECT_FALSE(DecodePayload(TypeOf(Go{}), R"({"epoch": -1})").ok());
  EXPECT_FALSE(DecodePayload(TypeOf(Configure{}),
                             R"({"epoch": 1, "rank": 4294967296, "addresses": [], "secret": ""})")
                   .ok());
}

TEST(LinkCodec, IgnoresFieldsItDoesNotKnow) {
  EXPECT_TRUE(DecodePayload(TypeOf(Go{}), R"({"epoch": 1, "colour": "red"})").ok());
}

TEST(LinkCodec, AnUnknownExitCauseIsAnError) {
  const auto decoded = DecodePayload(TypeOf(Failed{}), R"({"cause": 99, "message": "m"})");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(std::get<Failed>(*decoded).cause, contract::ExitCause::kError);
}

TEST(LinkCodec, SaysWhenATypeIsUnknown) {
  for (const uint16_t type : {0, 5, 10, 24, 65535}) {
    EXPECT_EQ(DecodePayload(type, "{}").status().code(), StatusCode::kUnimplemented);
  }
}

TEST(LinkCodec, RefusesHeadersThatAreOversizeOrNotReservedZero) {
  const std::string oversize("\x01\x00\x00\x01\x04\x00\x00\x00", kHeaderBytes);
  EXPECT_EQ(DecodeHeader(oversize).status().code(), StatusCode::kDataLoss);
  const std::string reserved("\x02\x00\x00\x00\x04\x00\x01\x00", kHeaderBytes);
  EXPECT_EQ(DecodeHeader(reserved).status().code(), StatusCode::kDataLoss);
  const std::string largest("\x00\x00\x00\x01\x04\x00\x00\x00", kHeaderBytes);
  EXPECT_TRUE(DecodeHeader(largest).ok());
}

}  // namespace
}  // namespace gp::link
