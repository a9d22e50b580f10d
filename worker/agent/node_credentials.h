// NodeCredentials: how this node authenticates itself to a coordinator on TCP, and the coordinator
// to it (docs/security/tls.md). Kept in <state.dir>/security:
//   node.pem  the node's key and certificate
//   ca.crt    the coordinator's authority, found by the digest in the join token (coordinator.ca
//             replaces it)
//   node.key  the key of an unfinished join
// A thread renews node.pem after two thirds of its lifetime; channels reload it by themselves. Made
// and owned by the daemon, one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "rpc/tls.h"

namespace gp::agent {

struct NodeCredentialsOptions {
  std::string coordinator;  // HOST:PORT
  std::string state_dir;    // exists
  std::string node_id;
  std::string join_token_file;  // empty: none
  std::string ca;               // file; empty: the authority that the join token names
  // The limit for each call, and the longest pause between attempts to join. Pauses between
  // attempts to renew grow to 10 minutes.
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);
  std::chrono::nanoseconds retry_max = std::chrono::seconds(5);
};

class NodeCredentials {
 public:
  // Joins if the node has no valid certificate, or has a join token and a certificate that the
  // coordinator refuses because it was revoked. Starts renewal. Retries while the coordinator
  // cannot be reached or has no room for the request, and while this machine's clock is wrong,
  // until `stopped` returns true: then Cancelled. Any other error is final and says what to do: no
  // token, an invalid token, another server.
  static StatusOr<std::unique_ptr<NodeCredentials>> Open(NodeCredentialsOptions options,
                                                         Clock& clock,
                                                         const std::function<bool()>& stopped);
  ~NodeCredentials();

  // The files for channels to the coordinator.
  rpc::ChannelTls tls() const;

 private:
  NodeCredentials(NodeCredentialsOptions options, Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  std::string Path(const std::string& name) const;
  std::string CaPath() const { return options_.ca.empty() ? Path("ca.crt") : options_.ca; }
  // OK when node.pem and the authority exist and are valid.
  Status CheckFiles() const;
  // Whether the coordinator refuses this node's certificate because it was revoked, and there is a
  // join token to use instead.
  bool IsRefused() const;
  Status Join() const;
  // Joins, unless an earlier call has done so, and checks the certificate. Unavailable while that
  // cannot be used: with a wrong clock here a further one could not be used either.
  Status TryToJoin(bool& joined) const;
  Status FetchCa(const std::string& digest) const;
  Status Renew() const;
  void RenewLoop() EXCLUDES(mutex_);
  // The time until the next renewal is due.
  std::chrono::nanoseconds UntilRenewal() const;

  const NodeCredentialsOptions options_;
  Clock& clock_;

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::jthread renewer_;
};

}  // namespace gp::agent
