#include "http/server.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <utility>
#include <vector>

#include "base/log.h"
#include "http/connection.h"

namespace gp::http {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Error = boost::system::error_code;

// How many connections, beyond the limit, may linger after their last answer or refusal, so that
// the client can read it.
constexpr int kLeavingMax = 256;

StatusOr<Tcp::endpoint> Resolve(asio::io_context& context, const ServerPlace& place) {
  Error error;
  Tcp::resolver resolver(context);
  const auto found =
      resolver.resolve(place.host, std::to_string(place.port), Tcp::resolver::passive, error);
  if (error) return InvalidArgument("cannot listen on {}: {}", place.host, error.message());
  return found.begin()->endpoint();
}

class AsioServer : public Server {
 public:
  AsioServer(EventLoop& loop, ServerContext context, const TlsContext* tls)
      : loop_(loop),
        tls_(tls),
        state_(std::make_shared<ServerState>(std::move(context))),
        acceptor_(loop.context()) {}
  ~AsioServer() override {
    Error ignored;
    acceptor_.close(ignored);
    tick_.reset();
    *alive_ = nullptr;
    // Closes the connections, because the loop may keep them alive longer than the objects that the
    // context's callbacks use.
    for (const auto& connection : connections_) connection->Close();
  }

  Status Listen(const ServerPlace& place) {
    ASSIGN_OR_RETURN(const Tcp::endpoint endpoint, Resolve(loop_.context(), place));
    Error error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) acceptor_.non_blocking(true, error);
    if (error) {
      return Unavailable("cannot listen on {}:{}: {}; choose another --listen", place.host,
                         place.port, error.message());
    }
    port_ = acceptor_.local_endpoint().port();
    Accept();
    tick_ = loop_.Every(state_->context.limits.tick, [this] { Tick(); });
    return OkStatus();
  }

  int port() const override { return port_; }
  int connections() const override { return static_cast<int>(connections_.size()); }

  void Drain() override {
    Error ignored;
    acceptor_.close(ignored);
    state_->draining = true;
    for (const auto& connection : connections_) connection->Drain();
    Sweep();
  }

  bool idle() const override { return connections_.empty(); }

 private:
  // Accepts up to kAtOnce waiting clients before it yields, because a busy loop rarely gets here.
  void Accept() {
    acceptor_.async_wait(Tcp::acceptor::wait_read, [this, alive = alive_](const Error& error) {
      if (*alive == nullptr || error == asio::error::operation_aborted) return;
      constexpr int kAtOnce = 128;
      for (int i = 0; i < kAtOnce && acceptor_.is_open(); ++i) {
        Error problem;
        Tcp::socket socket(loop_.context());
        acceptor_.accept(socket, problem);
        if (problem == asio::error::would_block || problem == asio::error::try_again) break;
        if (problem == asio::error::connection_aborted) continue;
        if (problem) return AcceptLater(problem.message());
        Admit(std::move(socket));
      }
      if (acceptor_.is_open()) Accept();
    });
  }

  // Called when no descriptor or no memory is left, which ends when clients leave.
  void AcceptLater(const std::string& reason) {
    if (reason != std::exchange(accept_problem_, reason)) {
      LogWarning("cannot accept connections for now", {{"error", reason}});
    }
    retry_ = loop_.After(std::chrono::milliseconds(100), [this] { Accept(); });
  }

  void Admit(Tcp::socket socket) {
    Error error;
    const auto peer = socket.remote_endpoint(error);
    if (error) return;
    socket.set_option(Tcp::no_delay(true), error);
    const bool full = places_taken() >= state_->context.limits.connections_max && !TakeAPlace();
    if (connections() >= state_->context.limits.connections_max + kLeavingMax) {
      if (const auto leaving = Longest(Connection::Use::kLeaving)) leaving->GiveUpPlace();
      Sweep();
    }
    const auto connection = std::make_shared<Connection>(
        state_, Transport::Make(std::move(socket), full ? nullptr : tls_),
        peer.address().to_string());
    connections_.push_back(connection);
    if (full) {
      connection->Refuse();
    } else {
      connection->Start();
    }
  }

  // Does not count lingering connections, which were answered and hold only a socket.
  int places_taken() const {
    return static_cast<int>(std::count_if(
        connections_.begin(), connections_.end(),
        [](const auto& connection) { return connection->use() != Connection::Use::kLeaving; }));
  }

  // The connection that has had this use for longest; null if there is none.
  std::shared_ptr<Connection> Longest(Connection::Use use) const {
    std::shared_ptr<Connection> longest;
    for (const auto& connection : connections_) {
      if (connection->use() != use) continue;
      if (!longest || connection->used_since() < longest->used_since()) longest = connection;
    }
    return longest;
  }

  // Frees a place for a new client by ending a connection that waits or is slow. False: all are
  // being answered.
  bool TakeAPlace() {
    using Use = Connection::Use;
    for (const Use use : {Use::kNoRequestYet, Use::kIdle, Use::kReceiving, Use::kUnread}) {
      const auto longest = Longest(use);
      if (!longest) continue;
      longest->GiveUpPlace();
      Sweep();
      return true;
    }
    return false;
  }

  void Tick() {
    const auto now = std::chrono::steady_clock::now();
    const auto all = connections_;
    for (const auto& connection : all) connection->Tick(now);
    Sweep();
  }

  void Sweep() {
    std::erase_if(connections_, [](const auto& connection) { return connection->closed(); });
  }

  EventLoop& loop_;
  const TlsContext* const tls_;
  const std::shared_ptr<ServerState> state_;
  Tcp::acceptor acceptor_;
  int port_ = 0;
  std::string accept_problem_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::unique_ptr<Timer> tick_;
  std::unique_ptr<Timer> retry_;
  // Outlives the server; holds null once the server is destroyed.
  const std::shared_ptr<AsioServer*> alive_ = std::make_shared<AsioServer*>(this);
};

}  // namespace

StatusOr<std::unique_ptr<Server>> Server::Start(EventLoop& loop, const ServerPlace& place,
                                                ServerContext context, const TlsContext* tls) {
  auto server = std::make_unique<AsioServer>(loop, std::move(context), tls);
  RETURN_IF_ERROR(server->Listen(place));
  return server;
}

}  // namespace gp::http
