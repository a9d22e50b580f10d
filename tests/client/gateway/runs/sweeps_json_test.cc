// Goal: the page gets the ranking of gpctl, and null for what is not known.
#include "client/gateway/runs/sweeps_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "client/api/sample_sweep.h"

namespace gp::gateway {
namespace {

TEST(SweepsJson, ASweepHasItsCandidatesByRank) {
  v1::Sweep sweep = client::SampleSweep({3.0, 3.2, 2.0, 2.2, 2.1, 2.3});
  sweep.mutable_submitted_at()->set_seconds(1'700'000'000);
  const auto document = SweepDocument(sweep)["sweep"];
  EXPECT_EQ(document["state"], "succeeded");
  EXPECT_EQ(document["ended"], true);
  EXPECT_EQ(document["submitted_at"], 1.7e9);
  EXPECT_TRUE(document["ended_at"].is_null());
  EXPECT_EQ(document["best"], 3);
  const auto& first = document["candidates"][0];
  EXPECT_EQ(first["keys"]["optimizer.lr"], "3e-3");
  EXPECT_DOUBLE_EQ(first["mean"], 2.1);
  EXPECT_NEAR(first["deviation"], 0.1414, 1e-4);
  EXPECT_EQ(first["trials"], nlohmann::ordered_json({3, 4}));
  const auto& second = document["candidates"][1];
  EXPECT_NEAR(second["difference"], 0.1, 1e-12);
  EXPECT_EQ(second["is_noise"], true);
  EXPECT_EQ(document["trials"][0]["run"], "run1");
  EXPECT_EQ(document["trials"][0]["state"], "done");
}

TEST(SweepsJson, UnknownNumbersAreNull) {
  v1::Sweep sweep = client::SampleSweep({3.0, 3.2, {}, {}, {}, {}});
  sweep.set_state(v1::SWEEP_STATE_RUNNING);
  v1::SweepTrial& waiting = *sweep.mutable_trials(5);
  waiting.set_state(v1::TRIAL_STATE_WAITING);
  waiting.clear_run_id();
  sweep.mutable_trials(2)->set_validation_loss(std::numeric_limits<double>::infinity());
  const auto document = SweepDocument(sweep)["sweep"];
  EXPECT_TRUE(document["trials"][5]["run"].is_null());
  EXPECT_TRUE(document["trials"][5]["validation_loss"].is_null());
  EXPECT_TRUE(document["trials"][2]["validation_loss"].is_null());
  const auto& last = document["candidates"][2];
  EXPECT_TRUE(last["mean"].is_null());
  EXPECT_TRUE(last["difference"].is_null());
  EXPECT_EQ(last["comparable"], false);
}

TEST(SweepsJson, AListHasNoTrials) {
  v1::ListSweepsResponse list;
  *list.add_sweeps() = client::SampleSweep({3.0, 3.2, 2.0, 2.2, 2.1, 2.3});
  const auto document = SweepsDocument(list);
  EXPECT_EQ(document["sweeps"][0]["name"], "rates");
  EXPECT_EQ(document["sweeps"][0]["trial_count"], 6);
  EXPECT_FALSE(document["sweeps"][0].contains("trials"));
  EXPECT_EQ(SweepsDocument({})["sweeps"].size(), 0U);
}

}  // namespace
}  // namespace gp::gateway
