// NodeRegistry: the nodes that joined with a token, and which of them were revoked; in
// security/nodes.db of the coordinator's state directory (docs/security/tls.md). Record and
// Revoke are durable when they return and may wait for the disk; the others read memory only. Every
// method may be called from any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "coordinator/store/database_file.h"
#include "coordinator/store/sqlite.h"
#include "security/certificate.h"

namespace gp::coordinator {

// State of a node's certificates.
struct JoinedNode {
  std::string key_digest;  // SHA-256 of the public key of the newest certificate
  WallTime until;          // the end of the newest certificate
  std::optional<WallTime> revoked_at;
};

// security/nodes.db of a state directory.
DatabaseFile NodeDatabase();

class NodeRegistry {
 public:
  // Makes the file (0600) in `security_dir`, which exists. `clock` must outlive the registry.
  // DataLoss when the file is damaged, FailedPrecondition when a newer gp wrote it.
  static StatusOr<std::unique_ptr<NodeRegistry>> Open(const std::string& security_dir,
                                                      const Clock& clock);

  // Whether a machine with this key may join as `node_id`. AlreadyExists while a certificate for
  // another key is valid: a join token admits a machine, but cannot replace another one.
  // PermissionDenied if the node was revoked after the join token was made at `token_made`: an
  // older token does not undo a revocation.
  Status CheckJoin(const std::string& node_id, const std::string& key_digest,
                   WallTime token_made) const EXCLUDES(mutex_);

  // The start of validity of the node's next certificate: now, or just after its revocation.
  WallTime IssueTime(const std::string& node_id) const EXCLUDES(mutex_);

  // Notes the newest certificate.
  Status Record(const std::string& node_id, const std::string& key_digest, WallTime until)
      EXCLUDES(disk_mutex_, mutex_);

  // Whether a certificate that TLS has verified still speaks for the node. Unauthenticated when it
  // has ended, PermissionDenied when it was made before the node was revoked.
  Status Check(const std::string& node_id, const security::Lifetime& lifetime) const
      EXCLUDES(mutex_);

  // Whether a stream opened with such a certificate may continue: even after that certificate ends,
  // if the node has renewed it.
  Status CheckStream(const std::string& node_id, const security::Lifetime& lifetime) const
      EXCLUDES(mutex_);

  // No certificate that was made until now counts any more. Idempotent.
  Status Revoke(const std::string& node_id) EXCLUDES(disk_mutex_, mutex_);

  bool Knows(const std::string& node_id) const EXCLUDES(mutex_);

 private:
  NodeRegistry(SqliteConnection database, const Clock& clock)
      : clock_(clock), database_(std::move(database)) {}

  Status Load();
  std::optional<JoinedNode> Find(const std::string& node_id) const EXCLUDES(mutex_);
  Status Write(const std::string& node_id, const JoinedNode& node) REQUIRES(disk_mutex_)
      EXCLUDES(mutex_);

  const Clock& clock_;

  Mutex disk_mutex_;  // taken before mutex_
  SqliteConnection database_ GUARDED_BY(disk_mutex_);
  SqliteStatement write_ GUARDED_BY(disk_mutex_);

  mutable Mutex mutex_;
  std::map<std::string, JoinedNode> nodes_ GUARDED_BY(mutex_);
};

}  // namespace gp::coordinator
