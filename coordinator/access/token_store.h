// TokenStore: the tokens of this coordinator, in security/tokens.db of its state directory. The
// file and the memory hold SHA-256 digests of the secrets, never a secret. Create, Redeem and
// Revoke are durable when they return and may wait for the disk; Authenticate, Check, Find and List
// read memory only. Times of last use are written once a minute, so a crash loses the newest. Every
// method may be called from any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/access/role.h"
#include "coordinator/store/database_file.h"
#include "coordinator/store/sqlite.h"
#include "rpc/token.h"

namespace gp::coordinator {

// A token's record, without its secret.
struct TokenRecord {
  std::string id;
  rpc::TokenKind kind = rpc::TokenKind::kUser;
  std::string name;  // the user or the purpose; chosen by its creator
  Roles roles;       // none for a join token
  std::string created_by;
  WallTime created_at;
  std::optional<WallTime> expires_at;    // absent: never
  std::optional<WallTime> last_used_at;  // user tokens only
  std::optional<WallTime> revoked_at;
  // For a join token: the most machines that may join with it, how many did, and the newest
  // redeemer, "NODE_ID KEY_DIGEST".
  int uses_max = 1;
  int uses = 0;
  std::string redeemed_by;
};

struct NewToken {
  rpc::TokenKind kind = rpc::TokenKind::kUser;
  std::string name;
  Roles roles;
  std::optional<WallTime> expires_at;
  std::string created_by;
  int uses_max = 1;  // for a join token
};

struct IssuedToken {
  rpc::Token token;  // with the secret: shown once, never stored here
  TokenRecord record;
};

// security/tokens.db of a state directory.
DatabaseFile TokenDatabase();

class TokenStore {
 public:
  // Makes the directory (0700) and the file (0600) when absent. `clock` must outlive the store.
  // DataLoss when the file is damaged, FailedPrecondition when a newer gp wrote it.
  static StatusOr<std::unique_ptr<TokenStore>> Open(const std::string& security_dir,
                                                    const Clock& clock);
  ~TokenStore();

  // The SHA-256 of the CA that new tokens carry; empty: none. Set before the store is used.
  void SetCaDigest(std::string digest) { ca_digest_ = std::move(digest); }
  const std::string& ca_digest() const { return ca_digest_; }

  // InvalidArgument: a name that is empty, longer than 64 bytes or has other than printable ASCII
  // characters without blanks; no role for a user token; a role or no expiry for a join token; a
  // namespace that cannot be one; an expiry in the past; not 1 to 1000 uses for a join token, or
  // not 1 for a user token. ResourceExhausted: there are 10,000 tokens.
  StatusOr<IssuedToken> Create(const NewToken& wanted);

  // The record of a user token. Unauthenticated: unknown, wrong, a join token, expired or revoked.
  // Only a caller with the secret sees the last two reasons.
  StatusOr<std::shared_ptr<const TokenRecord>> Authenticate(const rpc::Token& token);
  // Whether a token that was valid is still valid. Unauthenticated gives the reason if not.
  Status Check(const std::string& id) const;

  // Uses up one use of a join token. `redeemer` identifies the caller, such as the digest of the
  // joining machine's public key: the same redeemer may repeat the call after a lost answer at no
  // further use. Unauthenticated as Authenticate, and when no use is left.
  StatusOr<TokenRecord> Redeem(const rpc::Token& token, const std::string& redeemer);

  // Idempotent. NotFound: no token has this id.
  StatusOr<TokenRecord> Revoke(const std::string& id);

  StatusOr<TokenRecord> Find(const std::string& id) const;
  // Oldest first. Tokens that can no longer be used are forgotten 30 days later, at a start.
  std::vector<TokenRecord> List() const;

 private:
  struct Entry {
    std::shared_ptr<const TokenRecord> record;
    std::string digest;  // SHA-256 of the secret, in hexadecimal
    std::optional<WallTime> used_at;
    bool used_since_flush = false;
  };

  TokenStore(SqliteConnection database, const Clock& clock);

  Status Prepare();
  Status Load();
  Status Insert(const TokenRecord& record, const std::string& digest) REQUIRES(disk_mutex_);
  StatusOr<bool> HasRedeemed(const std::string& id, const std::string& redeemer)
      REQUIRES(disk_mutex_);
  // False when no use is left, or the token was revoked meanwhile.
  StatusOr<bool> WriteRedeemed(const std::string& id, const std::string& redeemer)
      REQUIRES(disk_mutex_);
  // The entry whose secret this is; Unauthenticated otherwise.
  StatusOr<Entry*> FindSecret(const rpc::Token& token) REQUIRES(mutex_);
  Status CheckUsable(const TokenRecord& record) const;
  TokenRecord RecordOf(const Entry& entry) const;
  // Updates memory after the disk has been written.
  void Put(TokenRecord record);
  // Writes the times of last use, once a minute and at the end.
  void FlushLoop();
  void FlushUses();

  const Clock& clock_;
  std::string ca_digest_;

  Mutex disk_mutex_;  // taken before mutex_
  SqliteConnection database_ GUARDED_BY(disk_mutex_);
  SqliteStatement insert_ GUARDED_BY(disk_mutex_);
  SqliteStatement has_redeemed_ GUARDED_BY(disk_mutex_);
  SqliteStatement redeem_ GUARDED_BY(disk_mutex_);
  SqliteStatement revoke_ GUARDED_BY(disk_mutex_);
  SqliteStatement set_used_ GUARDED_BY(disk_mutex_);

  mutable Mutex mutex_;
  CondVar stopping_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::map<std::string, Entry> entries_ GUARDED_BY(mutex_);  // by id
  std::jthread flusher_;
};

}  // namespace gp::coordinator
