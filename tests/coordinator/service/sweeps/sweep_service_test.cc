// Goal: a sweep is durable once answered, a repeated request gives the same sweep, and its trials
// are submitted. The service in this process on a real gRPC server.
#include "coordinator/service/sweeps/sweep_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "coordinator/control/replay.h"
#include "coordinator/store/memory_store.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"
#include "lib/rpc/connected_channel.h"
#include "rpc/server.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

class Silent final : public BatchObserver, public RecordObserver {
 public:
  void OnBatch(const PublishedBatch&) override {}
  void OnRecorded(const RunId&, const Progress&) override {}
};

class SweepServiceTest : public ::testing::Test {
 protected:
  explicit SweepServiceTest(const RunQuotaOptions& quota = {}) : quota_(quota) {}
  void SetUp() override {
    reconciler_.Start();
    auto server = rpc::RpcServer::Start({.endpoints = {{"127.0.0.1:0"}}}, {&service_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = v1::SweepService::NewStub(rpc::ConnectedChannel(server_->address()));
  }
  void TearDown() override {
    server_->Shutdown(std::chrono::seconds(0));
    lanes_.Stop(kPatience);
    reconciler_.Stop();
  }

  static v1::SubmitSweepRequest Request(const std::string& request_id, const std::string& name) {
    v1::SubmitSweepRequest request;
    request.set_request_id(request_id);
    request.set_source("apiVersion: gp/v1\nkind: Sweep\nname: " + name +
                       "\nrun: base.yaml\ngrid: {optimizer.lr: [1e-3, 1e-2, 1e-1]}\n"
                       "max_parallel: 2\n");
    request.set_source_name("sweep.yaml");
    request.set_run_source_name("base.yaml");
    request.set_run_source(
        "apiVersion: gp/v1\nmodel: {n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}\n"
        "data: {text: [/text.txt], tokenizer: bytes}\n"
        "batch: {micro_batch: 2, sequence: 16}\nbudget: {steps: 10}\n");
    return request;
  }
  StatusOr<v1::SubmitSweepResponse> Submit(const v1::SubmitSweepRequest& request) {
    grpc::ClientContext context;
    v1::SubmitSweepResponse response;
    RETURN_IF_ERROR(rpc::FromGrpc(stub_->Submit(&context, request, &response)));
    return response;
  }
  StatusOr<v1::Sweep> Get(const std::string& name) {
    grpc::ClientContext context;
    v1::GetSweepRequest request;
    request.set_sweep(name);
    v1::Sweep response;
    RETURN_IF_ERROR(rpc::FromGrpc(stub_->Get(&context, request, &response)));
    return response;
  }
  StatusOr<v1::Sweep> Cancel(const std::string& name) {
    grpc::ClientContext context;
    v1::CancelSweepRequest request;
    request.set_sweep(name);
    v1::Sweep response;
    RETURN_IF_ERROR(rpc::FromGrpc(stub_->Cancel(&context, request, &response)));
    return response;
  }

  const RunQuotaOptions quota_;
  const TemporaryDirectory directory_;
  const LocalStorage files_;
  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
  ChangeHub hub_{SystemClock()};
  Silent observer_;
  Recorder recorder_{directory_.path(), {}, observer_};
  Reconciler reconciler_{store_, SystemClock(), observer_, *ReplayStore(store_), {}};
  const SpecResolver resolver_;
  const StorageRoot storage_ = *StorageRoot::Open(files_, JoinPath(directory_.path(), "storage"));
  WorkLanes lanes_;
  const std::unique_ptr<TokenStore> tokens_ =
      TokenStore::Open(JoinPath(directory_.path(), "security"), SystemClock()).value();
  const std::unique_ptr<AuditLog> audit_ =
      AuditLog::Open(JoinPath(directory_.path(), "audit"), SystemClock()).value();
  AccessGate access_{*tokens_, *audit_, SystemClock(), {.plain_network_is_admin = true}};
  SweepService service_{
      {access_, lanes_, hub_}, reconciler_, recorder_, {resolver_, storage_, store_}, quota_};
  std::unique_ptr<rpc::RpcServer> server_;
  std::unique_ptr<v1::SweepService::Stub> stub_;
};

TEST_F(SweepServiceTest, ASweepIsSubmittedOnceAndItsTrialsWaitForSlots) {
  const auto first = Submit(Request("one", "rates"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->replayed());
  EXPECT_EQ(first->sweep().trial_count(), 3);
  const auto again = Submit(Request("one", "rates"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->replayed());
  EXPECT_EQ(Submit(Request("two", "rates")).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Submit(Request("one", "other")).status().code(), StatusCode::kAlreadyExists);
  const auto shown = Get("default/rates");
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(shown->trials(0).state(), v1::TRIAL_STATE_LIVE);
  EXPECT_EQ(shown->trials(0).run_name(), "rates-1");
  EXPECT_EQ(shown->trials(2).state(), v1::TRIAL_STATE_WAITING);
  EXPECT_EQ(Get("nothing").status().code(), StatusCode::kNotFound);
  const auto cluster = ReplayStore(store_);
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(cluster->runs.size(), 2U);
  EXPECT_NE(cluster->FindSweep(SweepId("default/rates")), nullptr);
}

TEST_F(SweepServiceTest, ACancelledSweepEnds) {
  ASSERT_TRUE(Submit(Request("one", "rates")).ok());
  const auto cancelled = Cancel("rates");
  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(cancelled->state(), v1::SWEEP_STATE_CANCELLED) << "its trials held no slots";
  EXPECT_TRUE(Cancel("rates").ok());
  grpc::ClientContext context;
  v1::ListSweepsResponse list;
  ASSERT_TRUE(stub_->List(&context, {}, &list).ok());
  ASSERT_EQ(list.sweeps_size(), 1);
  EXPECT_EQ(list.sweeps(0).trials_size(), 0);
}

TEST_F(SweepServiceTest, ProblemsAreAnsweredWithTheirPlace) {
  v1::SubmitSweepRequest request = Request("one", "rates");
  request.set_source(
      "apiVersion: gp/v1\nkind: Sweep\nname: s\nrun: r\ngrid: {optimizer.lr: [x]}\n");
  const auto refused = Submit(request);
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(refused.status()), HasSubstr("sweep.yaml:5:23: optimizer.lr must be"));
}

TEST_F(SweepServiceTest, TrialsThatEndAfterDifferentStepsAreRefused) {
  for (const char* setting : {"budget.wall_time=2m", "eval.patience=3"}) {
    v1::SubmitSweepRequest request = Request("one", "rates");
    request.add_overrides(setting);
    request.add_overrides("eval.every=5");
    const auto refused = Submit(request);
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument) << setting;
    EXPECT_THAT(Message(refused.status()), HasSubstr("set budget.steps or budget.tokens"));
  }
}

}  // namespace
}  // namespace gp::coordinator
