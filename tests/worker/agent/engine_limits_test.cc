// Goal: an honest trainer's messages are accepted, even at the limits; messages beyond them are
// refused with a reason.
#include "worker/agent/engine_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::agent {
namespace {

using ::testing::HasSubstr;

std::string Reason(const link::Message& message) { return Misbehaviour(message); }

TEST(EngineLimits, WhatATrainerSendsIsTaken) {
  const std::string text(4096, 't');
  EXPECT_EQ(Reason(link::Hello{}), "");
  EXPECT_EQ(Reason(link::Listening{.address = "[::1]:4711",
                                   .isa_levels = {{"avx512", "avx2"}},
                                   .kernels = {{{"avx2", std::string(60'000, 'k')}}}}),
            "");
  EXPECT_EQ(Reason(link::Ready{}), "");
  EXPECT_EQ(Reason(link::StepReport{.point = {.step = INT64_MAX, .warning = text}}), "");
  EXPECT_EQ(Reason(link::CheckpointReport{
                {.directory = std::string(2048, 'd'), .manifest_digest = "00ff"}}),
            "");
  EXPECT_EQ(Reason(link::Waiting{.reason = text}), "");
  EXPECT_EQ(Reason(link::Stopped{.reason = text}), "");
  EXPECT_EQ(Reason(link::Failed{contract::ExitCause::kError, std::string(200'000, 'x')}), "");
}

TEST(EngineLimits, WhatNoTrainerSendsHasAReason) {
  for (const link::Message& message :
       std::vector<link::Message>{link::Start{}, link::Configure{}, link::Go{}, link::Stop{},
                                  link::SealResult{}, link::Generated{}}) {
    EXPECT_EQ(Reason(message), "it sent a message of a type that trainers do not send");
  }
  EXPECT_EQ(Reason(link::Hello{.protocol = 99, .protocol_min = 98}),
            "it sent protocols 98 to 99; this agent supports 1 to 1; install matching versions");
  EXPECT_EQ(Reason(link::Listening{.address = "h:1\033[2J"}), "it sent an invalid address");
  EXPECT_EQ(Reason(link::StepReport{.point = {.step = -1}}), "it sent the step -1");
  EXPECT_THAT(Reason(link::CheckpointReport{{.step = -5}}), HasSubstr("the step -5"));
  EXPECT_THAT(Reason(link::StepReport{.point = {.warning = std::string(9000, 'w')}}),
              HasSubstr("9000 bytes"));
  std::map<std::string, double> scores;
  for (int i = 0; i < 65; ++i) scores[std::to_string(i)] = 1;
  EXPECT_THAT(Reason(link::StepReport{.point = {.scores = scores}}), HasSubstr("65 scores"));
}

}  // namespace
}  // namespace gp::agent
