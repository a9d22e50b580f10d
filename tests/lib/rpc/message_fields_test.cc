// Goal: every field of a value is copied to the message's field of the same name and back. All
// values differ, so swapped fields are detected.
#include "rpc/message_fields.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "contract/training_point.h"
#include "contract/written_checkpoint.h"
#include "gp/store/v1/record.pb.h"
#include "gp/store/v1/run_log.pb.h"
#include "gp/v1/agent_service.pb.h"
#include "gp/v1/run.pb.h"
#include "proto/every_field.h"

namespace gp::rpc {
namespace {

using contract::ResumePoint;
using contract::TrainingPoint;
using contract::WrittenCheckpoint;
using google::protobuf::TextFormat;
using google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::UnsetFields;

TrainingPoint FullPoint() {
  return {.step = 12,
          .tokens = 4096,
          .loss = 4.5,
          .learning_rate = 0.25,
          .gradient_norm = 1.5,
          .tokens_per_second = 1024.5,
          .mfu = 0.5,
          .step_seconds = 0.75,
          .validation_loss = 7.5,
          .scores = {{"val_bpb", 2.5}, {"quiz/completion/acc", 3.5}},
          .epoch = 3,
          .skipped = true,
          .spike = true,
          .phases = {1.25, 2.25, 3.25, 4.25, 5.25, 6.25},
          .peak_flops = 9.5,
          .peak_source = "measured",
          .processor_wait = 10.5,
          .target_steps = 2000,
          .warning = "look here",
          .at_us = 8'000'009};
}

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

template <typename Message, typename Value>
Message Written(const Value& value) {
  Message message;
  WriteFields(value, message);
  return message;
}

TEST(MessageFields, APointHasEachFieldOfTheMessageOnTheWire) {
  const auto point = Written<v1::MetricPoint>(FullPoint());
  EXPECT_TRUE(MessageDifferencer::Equals(point, Parse<v1::MetricPoint>(R"(
      step: 12 epoch: 3 tokens: 4096 loss: 4.5 learning_rate: 0.25 gradient_norm: 1.5
      tokens_per_second: 1024.5 mfu: 0.5 step_seconds: 0.75 validation_loss: 7.5
      at { seconds: 8 nanos: 9000 }
      phases {
        data_wait: 1.25 forward: 2.25 backward: 3.25 allreduce_exposed: 4.25 optimizer: 5.25
        other: 6.25 }
      skipped: true spike: true target_steps: 2000 peak_flops: 9.5 peak_source: "measured"
      processor_wait: 10.5
      warning: "look here"
      scores { name: "quiz/completion/acc" value: 3.5 }
      scores { name: "val_bpb" value: 2.5 })")))
      << point.ShortDebugString();
  EXPECT_THAT(UnsetFields(point), IsEmpty());
  EXPECT_EQ(ReadFields<TrainingPoint>(point), FullPoint());
}

TEST(MessageFields, APointHasEachFieldOfTheStoredMessage) {
  const auto stored = Written<store::v1::StoredPoint>(FullPoint());
  EXPECT_THAT(UnsetFields(stored), IsEmpty());
  EXPECT_EQ(stored.allreduce_exposed_seconds(), 4.25);
  EXPECT_EQ(stored.at_us(), 8'000'009);
  EXPECT_EQ(ReadFields<TrainingPoint>(stored), FullPoint());
}

// The field used to be a map; the entries of a map have the same encoding.
TEST(MessageFields, StoredScoresHaveTheBytesOfAMap) {
  store::v1::StoredPoint point;
  ASSERT_TRUE(point.ParseFromString(
      std::string("\xba\x01\x12\x0a\x07val_bpb\x11\x00\x00\x00\x00\x00\x00\x04\x40", 21)));
  EXPECT_EQ(ReadFields<TrainingPoint>(point).scores, (Numbers{{"val_bpb", 2.5}}));
}

TEST(MessageFields, AProgressHasTheFieldsThatItShares) {
  EXPECT_THAT(
      UnsetFields(Written<v1::Progress>(FullPoint())),
      ElementsAre("target_tokens", "validation_step", "skipped_steps", "scores.step", "scores.step",
                  "pace_seconds", "best_validation_loss", "best_validation_step",
                  "best_validation_checkpoint", "best_validation_superseded", "skipped_spikes"));
}

TEST(MessageFields, AnEmptyMessageIsAPointOfDefaults) {
  EXPECT_EQ(ReadFields<TrainingPoint>(v1::MetricPoint()), TrainingPoint());
  EXPECT_EQ(Written<v1::MetricPoint>(TrainingPoint()).has_validation_loss(), false);
}

TEST(MessageFields, ACheckpointHasEachFieldOfItsMessages) {
  const WrittenCheckpoint written{250, "directory", "digest", 1 << 20, 1.5, true, "stopped early"};
  const auto told = Written<v1::WrittenCheckpoint>(written);
  EXPECT_THAT(UnsetFields(told), IsEmpty());
  EXPECT_EQ(ReadFields<WrittenCheckpoint>(told), written);
  const auto stored = Written<store::v1::CheckpointSealed>(written);
  EXPECT_THAT(UnsetFields(stored), ElementsAre("epoch", "leg"));
  EXPECT_EQ(ReadFields<WrittenCheckpoint>(stored), written);
}

TEST(MessageFields, AResumePointHasEachFieldOfItsMessage) {
  const ResumePoint resume{250, "directory", "digest"};
  const auto told = Written<v1::ResumePoint>(resume);
  EXPECT_THAT(UnsetFields(told), IsEmpty());
  EXPECT_EQ(ReadFields<ResumePoint>(told), resume);
}

TEST(MessageFields, ATimeOutsideOfCalendarsIsTheNearestInside) {
  TrainingPoint point = FullPoint();
  for (const int64_t at_us : {INT64_MIN, int64_t{-1}}) {
    point.at_us = at_us;
    EXPECT_EQ(Written<v1::MetricPoint>(point).at().seconds(), 0) << at_us;
  }
  point.at_us = INT64_MAX;
  EXPECT_EQ(Written<v1::MetricPoint>(point).at().seconds(), 253'402'300'799);
}

TEST(MessageFields, NoMoreNamedNumbersAreReadThanTheLimit) {
  v1::MetricPoint point;
  for (int i = 0; i < kNumbersMax + 10; ++i) point.add_scores()->set_name(std::to_string(i));
  EXPECT_EQ(ReadFields<TrainingPoint>(point).scores.size(), size_t{kNumbersMax});
}

}  // namespace
}  // namespace gp::rpc
