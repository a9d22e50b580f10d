#include "rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/scoped_umask.h"
#include "rpc/listen_address.h"

namespace gp::rpc {
namespace {

// Both are process-wide switches of gRPC that must be set before the first server is built.
void EnablePlugins() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

void Configure(const ServerOptions& options, grpc::ServerBuilder& builder) {
  // Without this two servers may silently share one port.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Clients ping every 10 s (rpc/channel.h); a stricter server would close their connections.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 2000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.calls_per_connection_max);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.SetMaxReceiveMessageSize(options.request_bytes_max);
  builder.SetMaxSendMessageSize(options.response_bytes_max);
  grpc::ResourceQuota quota("server");
  quota.SetMaxThreads(options.threads_max);
  builder.SetResourceQuota(quota);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
}

std::unique_ptr<grpc::Server> BuildAndStart(grpc::ServerBuilder& builder, bool is_socket) {
  if (!is_socket) return builder.BuildAndStart();
  const ScopedUmask owner_only(0177);
  return builder.BuildAndStart();
}

StatusOr<std::optional<SocketName>> NameOf(const ListenAddress& address) {
  if (!address.is_socket()) return std::optional<SocketName>();
  ASSIGN_OR_RETURN(SocketName name, SocketName::Of(address.path));
  return std::optional<SocketName>(std::move(name));
}

}  // namespace

RpcServer::RpcServer(std::optional<SocketName> socket, std::unique_ptr<grpc::Server> server,
                     std::string address)
    : socket_(std::move(socket)), server_(std::move(server)), address_(std::move(address)) {}

RpcServer::~RpcServer() { Shutdown(std::chrono::nanoseconds(0)); }

StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const ServerOptions& options,
                                                      const std::vector<grpc::Service*>& services) {
  ASSIGN_OR_RETURN(const ListenAddress wanted, ParseListenAddress(options.listen));
  RETURN_IF_ERROR(CheckBindable(wanted));
  ASSIGN_OR_RETURN(std::optional<SocketName> socket, NameOf(wanted));
  EnablePlugins();
  grpc::ServerBuilder builder;
  Configure(options, builder);
  int port = 0;
  builder.AddListeningPort(socket ? socket->Target() : wanted.Text(),
                           grpc::InsecureServerCredentials(), &port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = BuildAndStart(builder, wanted.is_socket());
  if (server == nullptr || port == 0) {
    return Unavailable("cannot listen on {}: it was taken meanwhile", wanted.Text());
  }
  ListenAddress bound = wanted;
  bound.port = port;
  return std::unique_ptr<RpcServer>(
      new RpcServer(std::move(socket), std::move(server), bound.Reachable().Text()));
}

std::shared_ptr<grpc::Channel> RpcServer::ChannelToItself() const {
  return server_->InProcessChannel({});
}

void RpcServer::Shutdown(std::chrono::nanoseconds grace) {
  if (server_ == nullptr) return;
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
  // gRPC takes deadlines in the resolution of its own clock.
  const std::chrono::system_clock::time_point deadline = SystemClock().WallNow() + grace;
  server_->Shutdown(deadline);
  server_->Wait();
  server_.reset();
}

}  // namespace gp::rpc
