// Goal: every field is converted into the right one. All values of a case differ, so swapped fields
// are detected. Add new fields here.
#include "worker/agent/convert.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "proto/every_field.h"

namespace gp::agent {
namespace {

using google::protobuf::TextFormat;
using google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::UnsetFields;
using Kernels = std::map<std::string, std::string>;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// The difference as text; empty if they are equal.
std::string DifferenceBetween(const google::protobuf::Message& expected,
                              const google::protobuf::Message& actual) {
  std::string difference;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  differencer.Compare(expected, actual);
  return difference;
}

// An assignment with every field except those that other parts of the agent read.
v1::Assignment FullAssignment() {
  return Parse<v1::Assignment>(R"(
      run_id: "run id" run_name: "run name" epoch: 3 rank: 1 world_size: 2
      resolved: "resolved" run_directory: "run directory" begun: true begins_leg: true
      passes_over: 260
      resume { step: 250 directory: "directory" manifest_digest: "digest" }
      choices {
        threads_per_rank: 5 logical_shards: 8 isa: "avx2"
        kernels { key: "avx2" value: "choices" } })");
}

TEST(Convert, AWrittenCheckpointIsToldFieldByField) {
  const v1::WrittenCheckpoint told = ToProto(
      contract::WrittenCheckpoint{250, "directory", "digest", 1048576, 1.5, true, "stopped early"});
  EXPECT_EQ(DifferenceBetween(Parse<v1::WrittenCheckpoint>(R"(
      step: 250 directory: "directory" manifest_digest: "digest" size_bytes: 1048576
      validation_loss: 1.5 final: true end_reason: "stopped early")"),
                              told),
            "");
  EXPECT_THAT(UnsetFields(told), IsEmpty());
}

TEST(Convert, AnOfferIsToldFieldByField) {
  const v1::EngineOffer told =
      ToProto(link::Listening{"h:1", {{"avx512", "avx2"}}, {{{"avx2", "choices"}}}, "00ff"});
  EXPECT_EQ(DifferenceBetween(Parse<v1::EngineOffer>(R"(
      isa_levels: "avx512" isa_levels: "avx2" kernels { key: "avx2" value: "choices" }
      nccl_id: "00ff")"),
                              told),
            "");
  EXPECT_THAT(UnsetFields(told), IsEmpty());
}

TEST(Convert, AnAssignmentIsReadFieldByField) {
  const v1::Assignment assignment = FullAssignment();
  ASSERT_THAT(UnsetFields(assignment),
              ElementsAre("slot_id", "kind", "membership", "go", "stop", "stop_reason",
                          "sealed_steps", "refused_seals", "stop_now", "of_owner", "incarnation"))
      << "a new field is set above and expected below, or another part of the agent reads it";
  // Fails to compile when a member is added: then set its field above and check it here.
  const auto& [run_id, run_name, epoch, rank, world_size, resolved, run_directory, data_address,
               resume, threads, logical_shards, begun, begins_leg, passes_over, isa, kernels] =
      ToStart(assignment, "address", 7);
  EXPECT_EQ(run_id, "run id");
  EXPECT_EQ(run_name, "run name");
  EXPECT_EQ(epoch, 3u);
  EXPECT_EQ(rank, 1);
  EXPECT_EQ(world_size, 2);
  EXPECT_EQ(resolved, "resolved");
  EXPECT_EQ(run_directory, "run directory");
  EXPECT_EQ(data_address, "address");
  EXPECT_EQ(begun, std::optional(true));
  EXPECT_EQ(begins_leg, std::optional(true));
  EXPECT_EQ(passes_over, std::optional<int64_t>(260));
  ASSERT_TRUE(resume.has_value());
  EXPECT_EQ(resume->step, 250);
  EXPECT_EQ(resume->directory, "directory");
  EXPECT_EQ(resume->manifest_digest, "digest");
  EXPECT_EQ(threads, 5);
  EXPECT_EQ(logical_shards, 8);
  EXPECT_EQ(isa, "avx2");
  EXPECT_EQ(kernels, (Kernels{{"avx2", "choices"}}));
}

TEST(Convert, WithoutAResumePointAndAChoiceOfThreadsItStartsAnewOnAllCores) {
  v1::Assignment assignment = FullAssignment();
  assignment.clear_resume();
  assignment.mutable_choices()->clear_threads_per_rank();
  const link::Start start = ToStart(assignment, "address", 7);
  EXPECT_FALSE(start.resume.has_value());
  EXPECT_EQ(start.threads, 7);
}

TEST(Convert, AMembershipIsReadFieldByField) {
  auto membership = Parse<v1::Membership>(R"(
      addresses: "h:1" addresses: "h:2" secret: "secret" needs_nccl_id: true nccl_id: "00ff"
      encrypted: true)");
  ASSERT_THAT(UnsetFields(membership), IsEmpty());
  v1::EngineChoices choices = FullAssignment().choices();
  ASSERT_THAT(UnsetFields(choices), IsEmpty());
  const auto& [epoch, rank, addresses, secret, isa, kernels, nccl_id, encrypted] =
      ToConfigure(membership, choices, 3, 1);
  EXPECT_EQ(epoch, 3u);
  EXPECT_EQ(rank, 1);
  EXPECT_THAT(addresses, ElementsAre("h:1", "h:2"));
  EXPECT_EQ(secret, "secret");
  EXPECT_EQ(isa, "avx2");
  EXPECT_EQ(kernels, (Kernels{{"avx2", "choices"}}));
  EXPECT_EQ(nccl_id, "00ff");
  EXPECT_EQ(encrypted, true);
  membership.set_needs_nccl_id(false);
  membership.set_encrypted(false);
  choices.clear_isa();
  const link::Configure undecided = ToConfigure(membership, choices, 3, 1);
  EXPECT_FALSE(undecided.nccl_id.has_value());
  EXPECT_FALSE(undecided.encrypted.has_value());
  EXPECT_FALSE(undecided.isa.has_value());
  EXPECT_FALSE(undecided.kernels.has_value());
}

}  // namespace
}  // namespace gp::agent
