// Goal: the commands send what the files say and show what the service answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/mutex.h"
#include "client/api/sample_sweep.h"
#include "client/gpctl/gpctl_runner.h"
#include "client/loopback_server.h"
#include "gp/v1/sweep_service.grpc.pb.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;

// Answers with one sweep.
class FakeSweepService final : public v1::SweepService::Service {
 public:
  void Set(const v1::Sweep& sweep) {
    MutexLock lock(mutex_);
    sweep_ = sweep;
  }
  v1::SubmitSweepRequest submitted() const {
    MutexLock lock(mutex_);
    return submitted_;
  }

  grpc::Status Submit(grpc::ServerContext*, const v1::SubmitSweepRequest* request,
                      v1::SubmitSweepResponse* response) override {
    MutexLock lock(mutex_);
    submitted_ = *request;
    *response->mutable_sweep() = sweep_;
    return grpc::Status::OK;
  }
  grpc::Status Get(grpc::ServerContext*, const v1::GetSweepRequest*, v1::Sweep* response) override {
    MutexLock lock(mutex_);
    *response = sweep_;
    return grpc::Status::OK;
  }
  grpc::Status List(grpc::ServerContext*, const v1::ListSweepsRequest*,
                    v1::ListSweepsResponse* response) override {
    MutexLock lock(mutex_);
    *response->add_sweeps() = sweep_;
    return grpc::Status::OK;
  }
  grpc::Status Cancel(grpc::ServerContext*, const v1::CancelSweepRequest*,
                      v1::Sweep* response) override {
    MutexLock lock(mutex_);
    sweep_.set_state(v1::SWEEP_STATE_CANCELLED);
    *response = sweep_;
    return grpc::Status::OK;
  }

 private:
  mutable Mutex mutex_;
  v1::Sweep sweep_ GUARDED_BY(mutex_);
  v1::SubmitSweepRequest submitted_ GUARDED_BY(mutex_);
};

class SweepCommand : public ::testing::Test {
 protected:
  SweepCommand() {
    gpctl_.environment["GPCTL_SERVER"] = server_.address();
    service_.Set(client::SampleSweep({3.0, 3.2, 2.0, 2.2, 4.0, 4.1}));
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::string path = JoinPath(gpctl_.home(), name);
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }

  FakeSweepService service_;
  const LoopbackServer server_{service_};
  GpctlRunner gpctl_;
};

TEST_F(SweepCommand, SubmitSendsBothFiles) {
  Write("run.yaml", "apiVersion: gp/v1\n");
  const std::string head = "apiVersion: gp/v1\nkind: Sweep\nname: rates\n";
  const std::string file = Write("sweep.yaml", head + "run: run.yaml\ngrid: {seed: [1, 2]}\n");
  const Outcome outcome =
      gpctl_.Run({"sweep", "submit", file, "--set", "budget.steps=5", "--name", "other"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "Submitted sweep rates: 6 trials, 2 at a time\n");
  const v1::SubmitSweepRequest sent = service_.submitted();
  EXPECT_EQ(sent.run_source(), "apiVersion: gp/v1\n");
  EXPECT_EQ(sent.run_source_name(), "run.yaml");
  EXPECT_EQ(sent.name(), "other");
  ASSERT_GE(sent.overrides_size(), 1);
  EXPECT_EQ(sent.overrides(0), "budget.steps=5");
  EXPECT_FALSE(sent.request_id().empty());
}

TEST_F(SweepCommand, AProblemIsReportedBeforeTheServiceIsAsked) {
  const std::string file = Write("sweep.yaml", "apiVersion: gp/v1\nkind: Sweep\nnam: rates\n");
  const Outcome outcome = gpctl_.Run({"sweep", "submit", file});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("sweep.yaml:3:1: unknown key 'nam'"));
  EXPECT_EQ(service_.submitted().request_id(), "");
  const Outcome missing = gpctl_.Run({"sweep", "submit", "nothing.yaml"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("expected a sweep file"));
}

TEST_F(SweepCommand, StatusBestAndListShowTheSweep) {
  EXPECT_THAT(gpctl_.Run({"sweep", "status", "rates"}).out, HasSubstr("RANK  optimizer.lr"));
  const Outcome best = gpctl_.Run({"sweep", "best", "rates"});
  EXPECT_THAT(best.out, HasSubstr("rates-3 (trial 3 of rates): val_loss 2.0000"));
  EXPECT_THAT(best.err, HasSubstr("fork rates-3@best --steps +"));
  EXPECT_THAT(gpctl_.Run({"sweep", "list"}).out, HasSubstr("rates  succeeded"));
  EXPECT_THAT(gpctl_.Run({"sweep", "best", "rates", "-o", "json"}).out,
              HasSubstr("\"run_name\": \"rates-3\""));
}

TEST_F(SweepCommand, NoLossIsNoBest) {
  service_.Set(client::SampleSweep({{}, {}, {}, {}, {}, {}}));
  EXPECT_EQ(gpctl_.Run({"sweep", "best", "rates"}).code, 5);
  EXPECT_EQ(gpctl_.Run({"sweep", "plot", "rates"}).code, 5);
}

TEST_F(SweepCommand, WatchEndsWithTheSweep) {
  const Outcome done = gpctl_.Run({"sweep", "watch", "rates"});
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.out, HasSubstr("rates: succeeded"));
  EXPECT_EQ(gpctl_.Run({"sweep", "cancel", "rates"}).code, 0);
  EXPECT_EQ(gpctl_.Run({"sweep", "watch", "rates"}).code, 8);
}

TEST_F(SweepCommand, PlotDrawsInTheTerminalOrWritesAFile) {
  EXPECT_THAT(gpctl_.Run({"sweep", "plot", "rates"}).out, HasSubstr("val_loss by optimizer.lr"));
  const std::string file = JoinPath(gpctl_.home(), "loss.svg");
  const Outcome outcome = gpctl_.Run({"sweep", "plot", "rates", "-o", file});
  EXPECT_EQ(outcome.out, "wrote " + file + "\n");
  EXPECT_THAT(*ReadFile(file), HasSubstr("val_loss by optimizer.lr"));
  EXPECT_EQ(gpctl_.Run({"sweep", "plot", "rates", "-o", "loss.pdf"}).code, 2);
}

}  // namespace
}  // namespace gp::testing
