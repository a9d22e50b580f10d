// AgentService: the gRPC service for agents. Each stream that the AccessGate admits has an
// AgentSession. Thread-safe.
#pragma once

#include "coordinator/service/agent_session.h"
#include "gp/v1/agent_service.grpc.pb.h"
#include "rpc/status.h"

namespace gp::coordinator {

class AgentService final : public v1::AgentService::CallbackService {
 public:
  // `context` must outlive the service.
  explicit AgentService(AgentServiceContext& context) : context_(context) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>* Connect(
      grpc::CallbackServerContext* call) override {
    auto admitted = context_.gate.Admit(rpc::ReadCaller(*call), "gp.v1.AgentService/Connect");
    if (!admitted.ok()) return new RefusedAgent(admitted.status());
    return AgentSession::Start(context_, *std::move(admitted));
  }

 private:
  // A stream that fails at once with an error.
  class RefusedAgent final
      : public grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage> {
   public:
    explicit RefusedAgent(const Status& why) { Finish(rpc::ToGrpc(why)); }
    void OnDone() override { delete this; }
  };

  AgentServiceContext& context_;
};

}  // namespace gp::coordinator
