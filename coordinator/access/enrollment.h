// Enrollment: issues a node's first certificate for a join token, renews it against the current
// certificate, and revokes it. Owned by the daemon; may be called from any thread, and waits for
// the disk.
#pragma once

#include <string>

#include "base/mutex.h"
#include "coordinator/access/node_registry.h"
#include "coordinator/access/server_certificates.h"
#include "coordinator/access/token_store.h"

namespace gp::coordinator {

class Enrollment {
 public:
  // Every reference must outlive this object.
  Enrollment(const ServerCertificates& certificates, TokenStore& tokens, NodeRegistry& nodes)
      : certificates_(certificates), tokens_(tokens), nodes_(nodes) {}

  // The certificate (PEM) for the key of `request` (PEM) as `node_id`; takes one use of the join
  // token, also when NodeRegistry::CheckJoin then refuses the node. The same key may repeat the
  // call at no further use, because an answer may get lost. InvalidArgument: the id or the request
  // cannot be used. Unauthenticated: the token is not a valid join token, or has no use left.
  // Errors of NodeRegistry::CheckJoin.
  StatusOr<std::string> Join(const std::string& token, const std::string& node_id,
                             const std::string& request) EXCLUDES(mutex_);

  // The next certificate of a node whose current one has `lifetime`. Errors of NodeRegistry::Check,
  // and InvalidArgument.
  StatusOr<std::string> Renew(const std::string& node_id, const security::Lifetime& lifetime,
                              const std::string& request) EXCLUDES(mutex_);

  // Invalidates every certificate of the node that was made until now.
  Status Revoke(const std::string& node_id) EXCLUDES(mutex_);

 private:
  StatusOr<std::string> Issue(const security::CertificateRequest& request,
                              const std::string& node_id) REQUIRES(mutex_);

  const ServerCertificates& certificates_;
  TokenStore& tokens_;
  NodeRegistry& nodes_;
  Mutex mutex_;  // no certificate is made while a node is being revoked
};

}  // namespace gp::coordinator
