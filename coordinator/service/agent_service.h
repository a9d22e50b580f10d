// AgentService: the gRPC service for agents. Each stream has an AgentSession. Thread-safe.
#pragma once

#include "coordinator/service/agent_session.h"
#include "gp/v1/agent_service.grpc.pb.h"

namespace gp::coordinator {

class AgentService final : public v1::AgentService::CallbackService {
 public:
  // `context` outlives the service.
  explicit AgentService(AgentServiceContext& context) : context_(context) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>* Connect(
      grpc::CallbackServerContext* /*call*/) override {
    return AgentSession::Start(context_);
  }

 private:
  AgentServiceContext& context_;
};

}  // namespace gp::coordinator
