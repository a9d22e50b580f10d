#include "coordinator/coordinator_fixture.h"

#include "rpc/status.h"

namespace gp::coordinator {
namespace {

constexpr const char* kSmoke = R"(apiVersion: gp/v1
name: smoke
model: {n_layer: 2, n_head: 2, n_embd: 32, n_ctx: 32}
data: {text: [/data/text.txt], tokenizer: bytes}
resources: {workers: 2}
batch: {micro_batch: 4, sequence: 32}
budget: {steps: 20}
)";

}  // namespace

void CoordinatorFixture::SetUp() {
  process_.Start();
  stub_ = process_.NewStub();
}

void CoordinatorFixture::Restart() {
  process_.Kill();
  process_.Start();
  stub_ = process_.NewStub();
}

void CoordinatorFixture::SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
}

v1::SubmitRequest CoordinatorFixture::MakeRequest(const std::string& request_id) {
  v1::SubmitRequest request;
  request.set_request_id(request_id);
  request.set_source(kSmoke);
  request.set_source_name("smoke.yaml");
  return request;
}

Status CoordinatorFixture::Submit(v1::RunService::Stub& stub, const v1::SubmitRequest& request,
                                  v1::SubmitResponse& response) {
  grpc::ClientContext context;
  SetDeadline(context);
  return rpc::FromGrpc(stub.Submit(&context, request, &response));
}

v1::Run CoordinatorFixture::SubmitRun(const v1::SubmitRequest& request) {
  v1::SubmitResponse response;
  const Status status = Submit(*stub_, request, response);
  EXPECT_TRUE(status.ok()) << status;
  return response.run();
}

v1::Run CoordinatorFixture::Get(const std::string& run) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetRequest request;
  request.set_run(run);
  v1::Run response;
  const Status status = rpc::FromGrpc(stub_->Get(&context, request, &response));
  EXPECT_TRUE(status.ok()) << status;
  return response;
}

v1::Run CoordinatorFixture::Cancel(const std::string& run, const std::string& request_id) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::CancelRequest request;
  request.set_run(run);
  request.set_request_id(request_id);
  v1::Run response;
  const Status status = rpc::FromGrpc(stub_->Cancel(&context, request, &response));
  EXPECT_TRUE(status.ok()) << status;
  return response;
}

v1::Run CoordinatorFixture::Await(const std::string& run,
                                  const std::function<bool(const v1::Run&)>& wanted) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::WatchRequest request;
  request.set_run(run);
  auto stream = stub_->Watch(&context, request);
  v1::WatchResponse response;
  while (stream->Read(&response)) {
    if (!wanted(response.run())) continue;
    context.TryCancel();
    return response.run();
  }
  ADD_FAILURE() << "the run did not get there: " << stream->Finish().error_message()
                << "; last seen " << response.run().DebugString();
  return response.run();
}

std::vector<std::string> CoordinatorFixture::EventsOfKind(const std::string& run,
                                                          const std::string& kind) {
  v1::EventsRequest request;
  request.set_run(run);
  std::vector<std::string> reasons;
  for (const auto& event : ReadAll<v1::RunEvent>(&v1::RunService::Stub::Events, request)) {
    if (event.kind() == kind) reasons.push_back(event.reason());
  }
  return reasons;
}

}  // namespace gp::coordinator
