#include "rpc/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <utility>

#include "base/random_id.h"
#include "rpc/grpc_exit.h"
#include "rpc/listen_address.h"
#include "rpc/socket_name.h"

namespace gp::rpc {
namespace {

// A channel and the name of the socket that it connects to.
struct SocketChannel {
  SocketName name;
  std::shared_ptr<grpc::Channel> channel;
};

std::shared_ptr<grpc::Channel> ConnectSocket(SocketName name,
                                             const grpc::ChannelArguments& arguments) {
  auto channel =
      grpc::CreateCustomChannel(name.Target(), grpc::InsecureChannelCredentials(), arguments);
  const auto both = std::make_shared<SocketChannel>(SocketChannel{std::move(name), channel});
  return {both, both->channel.get()};
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options) {
  EndGrpcAtExit();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(options.keepalive_time.count()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                   static_cast<int>(options.keepalive_timeout.count()));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Despite its name, this argument sets the time that each attempt to connect is given at least.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   static_cast<int>(options.connect_timeout.count()));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   static_cast<int>(options.reconnect_max.count()));
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A proxy from the environment must not come between programs on one machine.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // The server distinguishes callers by the user agent: connections to a Unix socket have no
  // address.
  arguments.SetUserAgentPrefix("gp/" + RandomId(10));
  arguments.SetMaxReceiveMessageSize(options.message_bytes_max);
  arguments.SetMaxSendMessageSize(options.message_bytes_max);
  const auto parsed = ParseListenAddress(address);
  if (parsed.ok() && parsed->is_socket()) {
    if (auto name = SocketName::Of(parsed->path); name.ok()) {
      return ConnectSocket(*std::move(name), arguments);
    }
  }
  const auto credentials =
      options.tls ? MakeChannelCredentials(*options.tls) : grpc::InsecureChannelCredentials();
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace gp::rpc
