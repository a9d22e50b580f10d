// CoordinatorFixture: a real gp-coordinator in its own directory, with helpers that call it over
// gRPC as a user would. Each call has a deadline and fails the test if the coordinator refuses it.
// Not thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/coordinator_process.h"
#include "coordinator/scripted_agent.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {

class CoordinatorFixture : public ::testing::Test {
 protected:
  void SetUp() override;
  // Kills the coordinator with SIGKILL and starts it again.
  void Restart();

  static void SetDeadline(grpc::ClientContext& context);

  // A request to submit a run of two ranks and 20 steps, called `smoke`.
  static v1::SubmitRequest MakeRequest(const std::string& request_id);
  static Status Submit(v1::RunService::Stub& stub, const v1::SubmitRequest& request,
                       v1::SubmitResponse& response);
  v1::Run SubmitRun(const v1::SubmitRequest& request);
  v1::Run SubmitSmoke(const std::string& request_id) { return SubmitRun(MakeRequest(request_id)); }

  v1::Run Get(const std::string& run);
  v1::Run Cancel(const std::string& run, const std::string& request_id = "");
  // Follows the run until `wanted` returns true for it.
  v1::Run Await(const std::string& run, const std::function<bool(const v1::Run&)>& wanted);
  // The texts of the run's events of this kind.
  std::vector<std::string> EventsOfKind(const std::string& run, const std::string& kind);

  // All messages of a stream until it ends.
  template <typename Response, typename Request, typename Call>
  std::vector<Response> ReadAll(Call call, const Request& request) {
    grpc::ClientContext context;
    SetDeadline(context);
    auto stream = (stub_.get()->*call)(&context, request);
    std::vector<Response> all;
    Response one;
    while (stream->Read(&one)) all.push_back(one);
    const grpc::Status status = stream->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return all;
  }

  TemporaryDirectory directory_;
  // A long lease, because scripted agents send nothing while the test does something else.
  CoordinatorProcess process_{directory_.path(), {"GP_COORDINATOR_AGENTS_LEASE=1h"}};
  std::unique_ptr<v1::RunService::Stub> stub_;
};

}  // namespace gp::coordinator
