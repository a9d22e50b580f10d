#include "coordinator/service/input_probe.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "coordinator/service/gate.h"
#include "lib/base/eventually.h"
#include "rpc/channel.h"
#include "rpc/server.h"

namespace gp::coordinator {
namespace {

using std::chrono::seconds;

// Holds each Get on a gRPC thread until the test releases it.
class HeldUpService final : public v1::RunService::CallbackService {
 public:
  explicit HeldUpService(Gate& gate) : gate_(gate) {}
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* call, const v1::GetRequest*,
                                v1::Run*) override {
    gate_.Pass();
    return Finish(call);
  }
  grpc::ServerUnaryReactor* Version(grpc::CallbackServerContext* call, const v1::VersionRequest*,
                                    v1::VersionResponse*) override {
    return Finish(call);
  }

 private:
  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* call) {
    grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  Gate& gate_;
};

TEST(InputProbe, SaysForHowLongAServerWhoseThreadsAreHeldUpHasNotRead) {
  Gate gate;
  HeldUpService service(gate);
  const auto server = rpc::RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  InputProbe probe(SystemClock());
  probe.Start((*server)->ChannelToItself());

  gate.Close();
  std::vector<std::jthread> callers;
  for (int i = 0; i < 32; ++i) {
    callers.emplace_back([&] {
      grpc::ClientContext context;
      context.set_wait_for_ready(true);
      v1::Run run;
      const auto stub = v1::RunService::NewStub(rpc::MakeChannel((*server)->address()));
      EXPECT_TRUE(stub->Get(&context, {}, &run).ok());
    });
  }
  EXPECT_TRUE(Eventually([&] { return probe.Unread() > seconds(2); }));
  gate.Open();
  EXPECT_TRUE(Eventually([&] { return probe.Unread() < seconds(1); }));
  callers.clear();
  probe.Stop();
}

}  // namespace
}  // namespace gp::coordinator
