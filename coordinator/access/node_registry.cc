#include "coordinator/access/node_registry.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "coordinator/store/database_file.h"

namespace gp::coordinator {
namespace {

constexpr const char* kNodeMigrations[] = {
    R"(CREATE TABLE nodes(
         node_id TEXT PRIMARY KEY,
         key_digest TEXT NOT NULL,
         until_us INTEGER NOT NULL,
         revoked_at_us INTEGER NOT NULL) WITHOUT ROWID;)"};

constexpr char kWriteNode[] =
    "INSERT INTO nodes(node_id, key_digest, until_us, revoked_at_us) VALUES (?1, ?2, ?3, ?4) "
    "ON CONFLICT(node_id) DO UPDATE SET key_digest = ?2, until_us = ?3, revoked_at_us = ?4";

int64_t ToMicroseconds(WallTime time) { return time.time_since_epoch().count(); }
WallTime FromMicroseconds(int64_t count) { return WallTime(std::chrono::microseconds(count)); }

}  // namespace

DatabaseFile NodeDatabase() {
  return {.name = "security/nodes.db",
          .what = "registry of nodes",
          .migrations = kNodeMigrations,
          .when_damaged =
              "restore it from a backup, or remove it: revoked nodes are then accepted again until "
              "their certificates expire"};
}

StatusOr<std::unique_ptr<NodeRegistry>> NodeRegistry::Open(const std::string& security_dir,
                                                           const Clock& clock) {
  const std::string path = JoinPath(security_dir, BaseNameOf(NodeDatabase().name));
  ASSIGN_OR_RETURN(SqliteConnection database, OpenDatabase(path, NodeDatabase()));
  std::unique_ptr<NodeRegistry> registry(new NodeRegistry(std::move(database), clock));
  RETURN_IF_ERROR(registry->Load());
  return registry;
}

Status NodeRegistry::Load() {
  MutexLock disk(disk_mutex_);
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(write_, database_.Prepare(kWriteNode));
  ASSIGN_OR_RETURN(
      SqliteStatement rows,
      database_.Prepare("SELECT node_id, key_digest, until_us, revoked_at_us FROM nodes"));
  while (true) {
    ASSIGN_OR_RETURN(const bool has_row, rows.Step());
    if (!has_row) return OkStatus();
    JoinedNode& node = nodes_[rows.Text(0)];
    node.key_digest = rows.Text(1);
    node.until = FromMicroseconds(rows.Int(2));
    if (rows.Int(3) != 0) node.revoked_at = FromMicroseconds(rows.Int(3));
  }
}

std::optional<JoinedNode> NodeRegistry::Find(const std::string& node_id) const {
  MutexLock lock(mutex_);
  const auto found = nodes_.find(node_id);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

bool NodeRegistry::Knows(const std::string& node_id) const { return Find(node_id).has_value(); }

Status NodeRegistry::CheckJoin(const std::string& node_id, const std::string& key_digest,
                               WallTime token_made) const {
  const auto node = Find(node_id);
  if (node && node->revoked_at && token_made < *node->revoked_at) {
    return PermissionDenied(
        "node {} was revoked at {}, and this join token is older; make a new one with 'gpctl token "
        "create --join'",
        node_id, security::TimeText(*node->revoked_at));
  }
  if (!node || node->revoked_at || node->key_digest == key_digest) return OkStatus();
  if (node->until < clock_.WallNow()) return OkStatus();
  return AlreadyExists(
      "node {} already has a certificate until {}; another machine must join under its own id "
      "(remove node_id from its state directory), the same machine after 'gpctl workers revoke {}'",
      node_id, security::TimeText(node->until), node_id);
}

WallTime NodeRegistry::IssueTime(const std::string& node_id) const {
  const WallTime now = clock_.WallNow();
  const auto node = Find(node_id);
  // Times in certificates are whole seconds, so begin one second after the revocation.
  return node && node->revoked_at ? std::max(now, *node->revoked_at + std::chrono::seconds(1))
                                  : now;
}

Status NodeRegistry::Write(const std::string& node_id, const JoinedNode& node) {
  RETURN_IF_ERROR(write_.Bind(1, node_id)
                      .Bind(2, node.key_digest)
                      .Bind(3, ToMicroseconds(node.until))
                      .Bind(4, node.revoked_at ? ToMicroseconds(*node.revoked_at) : 0)
                      .Run());
  MutexLock lock(mutex_);
  nodes_[node_id] = node;
  return OkStatus();
}

Status NodeRegistry::Record(const std::string& node_id, const std::string& key_digest,
                            WallTime until) {
  MutexLock disk(disk_mutex_);
  JoinedNode node = Find(node_id).value_or(JoinedNode());
  node.key_digest = key_digest;
  node.until = until;
  return Write(node_id, node);
}

Status NodeRegistry::Check(const std::string& node_id, const security::Lifetime& lifetime) const {
  const WallTime now = clock_.WallNow();
  if (lifetime.end < now) {
    return Unauthenticated(
        "the certificate of node {} expired at {}; the node must join again with a join token",
        node_id, security::TimeText(lifetime.end));
  }
  const auto node = Find(node_id);
  const WallTime made = lifetime.begin + security::kClockSkew;
  if (!node || !node->revoked_at || made > *node->revoked_at) return OkStatus();
  return PermissionDenied(
      "node {} was revoked at {}; to admit it again, start it with a new join token", node_id,
      security::TimeText(*node->revoked_at));
}

Status NodeRegistry::CheckStream(const std::string& node_id,
                                 const security::Lifetime& lifetime) const {
  security::Lifetime newest = lifetime;
  if (const auto node = Find(node_id)) newest.end = std::max(newest.end, node->until);
  return Check(node_id, newest);
}

Status NodeRegistry::Revoke(const std::string& node_id) {
  MutexLock disk(disk_mutex_);
  JoinedNode node = Find(node_id).value_or(JoinedNode());
  node.revoked_at = clock_.WallNow();
  return Write(node_id, node);
}

}  // namespace gp::coordinator
