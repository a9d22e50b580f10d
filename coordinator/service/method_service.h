// MethodService: base of the gRPC services whose methods run on a lane's threads. gRPC delivers a
// request as bytes; the method's row in the AccessTable says who may call it, how long the request
// may be and which lane parses and answers it. The constructor of a service binds a handler to each
// of its methods, by its proto name. Handlers may run concurrently.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "coordinator/access/access_gate.h"
#include "coordinator/control/change_hub.h"
#include "coordinator/service/pooled_call.h"
#include "coordinator/service/pull_stream.h"
#include "coordinator/service/refused_stream.h"
#include "coordinator/service/request_bytes.h"
#include "coordinator/service/stream_count.h"
#include "coordinator/service/work_lanes.h"
#include "rpc/status.h"

namespace gp::coordinator {

// Dependencies of every service; they must outlive all services.
struct ServiceContext {
  AccessGate& gate;
  WorkLanes& lanes;
  ChangeHub& hub;
};

template <typename Api>
class MethodService : public Api::Service {
 protected:
  explicit MethodService(const ServiceContext& context) : service_(context) {}

  // Binds a method to its first step. That step or a later one must call Answer.
  template <typename Request, typename Response>
  void OnCall(const char* method, typename PooledCall<Request, Response>::Step first) {
    const AccessRule& rule = RuleOf(method);
    BindUnary(method, [this, &rule, first = std::move(first)](auto* context, auto* request,
                                                              auto* response) {
      return PooledCall<Request, Response>::Start({service_.gate, rule, LaneOf(rule)}, context,
                                                  request, response, first);
    });
  }

  // Binds a method that answers in one step: `fill(access, request, response)` fills the response
  // and returns the status.
  template <typename Request, typename Response, typename Fill>
  void OnQuery(const char* method, Fill fill) {
    OnCall<Request, Response>(method,
                              [fill = std::move(fill)](PooledCall<Request, Response>& call) {
                                call.Answer(fill(call.access(), call.request(), call.response()));
                              });
  }

  // Binds a method that is answered on gRPC's thread, so also while every lane is busy. `answer`
  // must not block.
  template <typename Response>
  void OnInstant(const char* method, std::function<Response()> answer) {
    const AccessRule& rule = RuleOf(method);
    BindUnary(method, [this, &rule, answer = std::move(answer)](auto* context, auto* request,
                                                                auto* response) {
      Status status = service_.gate.Admit(rpc::ReadCaller(*context), rule.method).status();
      if (status.ok()) status = CheckLength(*request, rule.request_bytes_max);
      if (status.ok()) *response = Serialize(answer());
      grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
      reactor->Finish(rpc::ToGrpc(status));
      return reactor;
    });
  }

  // Binds a stream. `open(access, request)` creates its source, on a worker of the lane. `places`
  // limits how many streams are open at a time and must outlive the service's calls.
  template <typename Request, typename Response, typename OpenSource>
  void OnStream(const char* method, StreamCount& places, OpenSource open) {
    const AccessRule& rule = RuleOf(method);
    BindStream(method,
               [this, &rule, &places, open = std::move(open)](
                   auto* context, auto* request) -> grpc::ServerWriteReactor<grpc::ByteBuffer>* {
                 auto admitted = service_.gate.Admit(rpc::ReadCaller(*context), rule.method);
                 if (!admitted.ok()) return RefusedStream(admitted.status());
                 const Status counted = (*admitted)->BecomeStream();
                 if (!counted.ok()) return RefusedStream(counted);
                 const Status length = CheckLength(*request, rule.request_bytes_max);
                 if (!length.ok()) return RefusedStream(length);
                 auto place = places.Reserve();
                 if (!place.ok()) return RefusedStream(place.status());
                 auto opened = [access = *admitted, bytes = *request,
                                open]() -> StatusOr<OpenedSource<Response>> {
                   ASSIGN_OR_RETURN(const Request of, Parse<Request>(bytes));
                   return open(*access, of);
                 };
                 return PullStream<Response>::Start(CallerOf(*context), *std::move(admitted),
                                                    std::move(opened), *std::move(place),
                                                    {LaneOf(rule), service_.hub});
               });
  }

 private:
  using Bytes = grpc::ByteBuffer;

  static const AccessRule& RuleOf(const char* method) {
    const AccessRule* rule = FindRule(std::string(Api::service_full_name()) + "/" + method);
    GP_CHECK(rule != nullptr);
    return *rule;
  }

  static int IndexOf(const char* method) {
    const auto* service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
        Api::service_full_name());
    GP_CHECK(service != nullptr);
    const auto* found = service->FindMethodByName(method);
    GP_CHECK(found != nullptr);
    return found->index();
  }

  // Like the classes WithRawCallbackMethod_… of the generated code, one for each method.
  template <typename Handler>
  void BindUnary(const char* method, Handler handler) {
    this->MarkMethodRawCallback(
        IndexOf(method), new grpc::internal::CallbackUnaryHandler<Bytes, Bytes>(
                             [handler = std::move(handler)](grpc::CallbackServerContext* context,
                                                            const Bytes* request, Bytes* response) {
                               return handler(context, request, response);
                             }));
  }
  template <typename Handler>
  void BindStream(const char* method, Handler handler) {
    this->MarkMethodRawCallback(
        IndexOf(method), new grpc::internal::CallbackServerStreamingHandler<Bytes, Bytes>(
                             [handler = std::move(handler)](grpc::CallbackServerContext* context,
                                                            const Bytes* request) {
                               return handler(context, request);
                             }));
  }

  WorkPool& LaneOf(const AccessRule& rule) const { return service_.lanes.Of(rule.lane); }

  const ServiceContext service_;
};

}  // namespace gp::coordinator
