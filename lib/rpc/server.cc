#include "rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/scoped_umask.h"
#include "rpc/grpc_exit.h"
#include "rpc/grpc_log.h"
#include "rpc/listen_address.h"

namespace gp::rpc {
namespace {

// Process-wide switches of gRPC that must be set before the first server is built.
void EnablePlugins() {
  static std::once_flag once;
  std::call_once(once, [] {
    EndGrpcAtExit();
    InstallGrpcLog();
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
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(options.handshake_timeout.count()));
  builder.SetMaxReceiveMessageSize(options.request_bytes_max);
  builder.SetMaxSendMessageSize(options.response_bytes_max);
  grpc::ResourceQuota quota("server");
  quota.SetMaxThreads(options.threads_max);
  builder.SetResourceQuota(quota);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  if (options.on_call_ended) interceptors.push_back(MakeCallObserver(options.on_call_ended));
  if (options.describe) interceptors.push_back(MakeHeaderWriter(options.describe));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
}

// One endpoint while the server is built: the requested address, and the port that gRPC bound.
struct Binding {
  ListenAddress wanted;
  std::optional<SocketName> socket;
  int port = 0;

  std::string Target() const { return socket ? socket->Target() : wanted.Text(); }
  std::string Address() const {
    ListenAddress bound = wanted;
    bound.port = port;
    return bound.Reachable().Text();
  }
};

StatusOr<Binding> CheckEndpoint(const Endpoint& endpoint) {
  ASSIGN_OR_RETURN(ListenAddress wanted, ParseListenAddress(endpoint.address));
  RETURN_IF_ERROR(CheckBindable(wanted));
  if (endpoint.tls) RETURN_IF_ERROR(CheckTls(*endpoint.tls));
  if (!wanted.is_socket()) return Binding{.wanted = std::move(wanted)};
  ASSIGN_OR_RETURN(SocketName name, SocketName::Of(wanted.path));
  return Binding{.wanted = std::move(wanted), .socket = std::move(name)};
}

std::unique_ptr<grpc::Server> BuildAndStart(grpc::ServerBuilder& builder,
                                            const std::vector<Binding>& bindings) {
  const bool has_socket = std::any_of(bindings.begin(), bindings.end(),
                                      [](const Binding& one) { return one.socket.has_value(); });
  if (!has_socket) return builder.BuildAndStart();
  const ScopedUmask owner_only(0177);
  return builder.BuildAndStart();
}

}  // namespace

RpcServer::RpcServer(std::vector<SocketName> sockets, std::unique_ptr<grpc::Server> server,
                     std::vector<std::string> addresses)
    : sockets_(std::move(sockets)), server_(std::move(server)), addresses_(std::move(addresses)) {}

RpcServer::~RpcServer() { Shutdown(std::chrono::nanoseconds(0)); }

StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const ServerOptions& options,
                                                      const std::vector<grpc::Service*>& services) {
  GP_CHECK(!options.endpoints.empty(), "a server needs at least one address");
  std::vector<Binding> bindings;
  for (const Endpoint& endpoint : options.endpoints) {
    ASSIGN_OR_RETURN(Binding binding, CheckEndpoint(endpoint));
    bindings.push_back(std::move(binding));
  }
  EnablePlugins();
  grpc::ServerBuilder builder;
  Configure(options, builder);
  for (size_t i = 0; i < bindings.size(); ++i) {
    const auto& tls = options.endpoints[i].tls;
    builder.AddListeningPort(bindings[i].Target(),
                             tls ? MakeServerCredentials(*tls) : grpc::InsecureServerCredentials(),
                             &bindings[i].port);
  }
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = BuildAndStart(builder, bindings);
  std::vector<SocketName> sockets;
  std::vector<std::string> addresses;
  for (Binding& binding : bindings) {
    if (server == nullptr || binding.port == 0) {
      return Unavailable("cannot listen on {}: another program took it meanwhile",
                         binding.wanted.Text());
    }
    addresses.push_back(binding.Address());
    if (binding.socket) sockets.push_back(*std::move(binding.socket));
  }
  return std::unique_ptr<RpcServer>(
      new RpcServer(std::move(sockets), std::move(server), std::move(addresses)));
}

std::shared_ptr<grpc::Channel> RpcServer::ChannelToItself() const {
  return server_->InProcessChannel({});
}

void RpcServer::Shutdown(std::chrono::nanoseconds grace) {
  if (server_ == nullptr) return;
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
  // gRPC accepts this type of time point; WallTime has another resolution.
  const std::chrono::system_clock::time_point deadline = SystemClock().WallNow() + grace;
  server_->Shutdown(deadline);
  server_->Wait();
  server_.reset();
}

}  // namespace gp::rpc
