// LoopbackServer: serves a fake gRPC service on 127.0.0.1 as long as it lives. Destroy it before
// the service.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace gp::testing {

class LoopbackServer {
 public:
  explicit LoopbackServer(grpc::Service& service) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~LoopbackServer() { server_->Shutdown(); }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  const std::string& address() const { return address_; }

 private:
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace gp::testing
