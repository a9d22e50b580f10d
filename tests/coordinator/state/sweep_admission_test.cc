// Goal: the same request gives the same sweep, and a name means one sweep.
#include "coordinator/state/sweep_admission.h"

#include <gtest/gtest.h>

#include "coordinator/sample_sweep.h"

namespace gp::coordinator {
namespace {

StatusOr<Admission> AdmitSubmit(const Cluster& cluster, const SweepSpec& spec,
                                const std::string& request_id) {
  return Admit(cluster, SubmitOf(spec, request_id));
}

TEST(SweepAdmission, TheSameRequestGivesTheSameSweep) {
  Cluster cluster;
  const auto first = AdmitSubmit(cluster, FourTrials(), "one");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->append);
  ASSERT_TRUE(Apply(SubmitOf(FourTrials(), "one"), cluster).ok());
  const auto again = AdmitSubmit(cluster, FourTrials(), "one");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->replayed);
  SweepSpec other = FourTrials();
  other.body_digest = "other";
  EXPECT_EQ(AdmitSubmit(cluster, other, "one").status().code(), StatusCode::kAlreadyExists);
}

TEST(SweepAdmission, ANameIsUsedAgainOnceItsSweepHasEnded) {
  Cluster cluster;
  ASSERT_TRUE(Apply(SubmitOf(FourTrials(), "one"), cluster).ok());
  const auto taken = AdmitSubmit(cluster, FourTrials(), "two");
  EXPECT_EQ(taken.status().code(), StatusCode::kAlreadyExists);
  EXPECT_NE(Message(taken.status()).find("which has not ended"), std::string::npos);
  SweepSpec elsewhere = FourTrials();
  elsewhere.run_namespace = "team";
  EXPECT_TRUE(AdmitSubmit(cluster, elsewhere, "two").ok());
  ASSERT_TRUE(
      Apply({.body = SweepEnded{FourTrials().id(), SweepState::kFailed, "x"}}, cluster).ok());
  EXPECT_TRUE(AdmitSubmit(cluster, FourTrials(), "one")->replayed);
  EXPECT_TRUE(AdmitSubmit(cluster, FourTrials(), "two")->append);
}

TEST(SweepAdmission, OneUserLeavesRoomForOthers) {
  SweepSpec large = FourTrials();
  large.trials.resize(kUserTrialsMax - 3);
  Cluster cluster;
  ASSERT_TRUE(Apply(SubmitOf(large, "one"), cluster).ok());
  SweepSpec more = FourTrials();
  more.name = "more";
  const auto refused = AdmitSubmit(cluster, more, "two");
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(Message(refused.status()).find("the sweeps of user alice"), std::string::npos);
  Event of_other = SubmitOf(more, "two");
  of_other.actor = "user bo";
  EXPECT_TRUE(Admit(cluster, of_other)->append);
  Event of_owner = SubmitOf(more, "two");
  of_owner.actor = "owner";
  EXPECT_TRUE(Admit(cluster, of_owner)->append);
  more.trials.resize(3);
  EXPECT_TRUE(AdmitSubmit(cluster, more, "two")->append);
}

TEST(SweepAdmission, LiveTrialsAreLimited) {
  SweepSpec large = FourTrials();
  large.trials.resize(kLiveTrialsMax - 3);
  Cluster cluster;
  Event of_owner = SubmitOf(large, "one");
  of_owner.actor = "owner";
  ASSERT_TRUE(Apply(of_owner, cluster).ok());
  SweepSpec other = FourTrials();
  other.name = "other";
  EXPECT_EQ(AdmitSubmit(cluster, other, "two").status().code(), StatusCode::kResourceExhausted);
  other.trials.resize(3);
  EXPECT_TRUE(AdmitSubmit(cluster, other, "two").ok());
}

TEST(SweepAdmission, CancellingTwiceChangesNothing) {
  Cluster cluster;
  const Event cancel{.actor = "user alice", .body = SweepCancelled{FourTrials().id()}};
  EXPECT_EQ(Admit(cluster, cancel).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(Apply(SubmitOf(FourTrials()), cluster).ok());
  EXPECT_TRUE(Admit(cluster, cancel)->append);
  ASSERT_TRUE(Apply(cancel, cluster).ok());
  EXPECT_TRUE(Admit(cluster, cancel)->replayed);
  ASSERT_TRUE(
      Apply({.body = SweepEnded{FourTrials().id(), SweepState::kSucceeded, "x"}}, cluster).ok());
  EXPECT_EQ(Admit(cluster, cancel).status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace gp::coordinator
