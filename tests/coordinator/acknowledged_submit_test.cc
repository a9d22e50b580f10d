// A submit to a real gp-coordinator is either stored exactly once or refused with a reason.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>

#include "base/file.h"
#include "coordinator/coordinator_fixture.h"

namespace gp::coordinator {
namespace {

class AcknowledgedSubmit : public CoordinatorFixture {};

TEST_F(AcknowledgedSubmit, SurvivesAKill) {
  constexpr int kSubmits = 200;
  std::vector<std::string> ids;
  for (int i = 0; i < kSubmits; ++i) {
    ids.push_back(SubmitSmoke("request-" + std::to_string(i)).run_id());
  }
  Restart();
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ListRequest list;
  list.set_limit(1000);
  v1::ListResponse listed;
  ASSERT_TRUE(stub_->List(&context, list, &listed).ok());
  ASSERT_EQ(listed.runs_size(), kSubmits);
  for (int i = 0; i < kSubmits; ++i) {
    EXPECT_EQ(listed.runs(i).run_id(), ids[static_cast<size_t>(kSubmits - 1 - i)]);
  }
  v1::SubmitResponse replayed;
  ASSERT_TRUE(Submit(*stub_, MakeRequest("request-7"), replayed).ok());
  EXPECT_TRUE(replayed.replayed());
  EXPECT_EQ(replayed.run().run_id(), ids[7]);
  v1::SubmitRequest other = MakeRequest("request-7");
  other.add_overrides("budget.steps=21");
  EXPECT_EQ(Submit(*stub_, other, replayed).code(), StatusCode::kAlreadyExists);
}

TEST_F(AcknowledgedSubmit, IsAnsweredAgainEvenWhenTheStorageIsGone) {
  const v1::Run run = SubmitSmoke("r1");
  const std::string moved = process_.storage_root() + ".moved";
  const std::string directory = process_.storage_root() + "/runs/" + run.run_id();
  ASSERT_TRUE(Eventually([&] { return FileExists(directory + "/resolved.yaml"); }));
  ASSERT_EQ(rename(process_.storage_root().c_str(), moved.c_str()), 0);
  v1::SubmitResponse replayed;
  EXPECT_TRUE(Submit(*stub_, MakeRequest("r1"), replayed).ok());
  EXPECT_EQ(replayed.run().run_id(), run.run_id());
  ASSERT_EQ(rename(moved.c_str(), process_.storage_root().c_str()), 0);
}

TEST_F(AcknowledgedSubmit, ABadRunFileIsRefusedWithItsPlaces) {
  v1::SubmitRequest request = MakeRequest("r1");
  request.set_source("apiVersion: gp/v1\nnmae: x\n");
  v1::SubmitResponse response;
  const Status status = Submit(*stub_, request, response);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(status).find("smoke.yaml:2:1"), std::string::npos) << status;
}

TEST_F(AcknowledgedSubmit, ADryRunTellsWhatWouldHappenAndKeepsNothing) {
  v1::SubmitRequest request = MakeRequest("r1");
  request.set_dry_run(true);
  v1::SubmitResponse response;
  ASSERT_TRUE(Submit(*stub_, request, response).ok());
  EXPECT_NE(response.run().reason().find("placement"), std::string::npos);
  EXPECT_NE(response.run().resolved().find("micro_batch"), std::string::npos);
  grpc::ClientContext context;
  v1::ListResponse listed;
  ASSERT_TRUE(stub_->List(&context, {}, &listed).ok());
  EXPECT_EQ(listed.runs_size(), 0);
}

// Kills the coordinator before the commit, after it, or before the answer. The client cannot tell
// which, so it repeats its request; only one run may exist afterwards.
class SubmitFailpoint : public CoordinatorFixture,
                        public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {}  // the test starts the coordinator itself
};

TEST_P(SubmitFailpoint, ARepeatedSubmitAfterAKillMakesOneRun) {
  CoordinatorProcess fragile(directory_.path(),
                             {std::string("GP_FAILPOINT=") + GetParam() + ":kill"});
  fragile.Start();
  v1::SubmitResponse response;
  EXPECT_FALSE(Submit(*fragile.NewStub(), MakeRequest("r1"), response).ok());
  EXPECT_EQ(fragile.WaitForEnd(), 128 + SIGKILL);  // it holds the lock of the state until then
  process_.Start();
  const auto stub = process_.NewStub();
  ASSERT_TRUE(Submit(*stub, MakeRequest("r1"), response).ok());
  grpc::ClientContext context;
  v1::ListResponse listed;
  ASSERT_TRUE(stub->List(&context, {}, &listed).ok());
  ASSERT_EQ(listed.runs_size(), 1);
  EXPECT_EQ(listed.runs(0).run_id(), response.run().run_id());
}

INSTANTIATE_TEST_SUITE_P(Submit, SubmitFailpoint,
                         ::testing::Values("store.before_commit", "store.after_commit",
                                           "reconciler.before_answer"));

}  // namespace
}  // namespace gp::coordinator
