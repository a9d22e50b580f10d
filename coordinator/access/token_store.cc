#include "coordinator/access/token_store.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <tuple>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/log.h"
#include "coordinator/store/database_file.h"
#include "formats/sha256.h"

namespace gp::coordinator {
namespace {

constexpr size_t kTokensMax = 10'000;
constexpr size_t kTokenNameBytesMax = 64;
constexpr int kJoinUsesMax = 1000;
constexpr std::chrono::minutes kFlushInterval{1};
constexpr std::chrono::hours kKeptAfterEnd{24 * 30};

constexpr const char* kTokenMigrations[] = {
    R"(CREATE TABLE tokens(
         id TEXT PRIMARY KEY,
         kind TEXT NOT NULL,
         name TEXT NOT NULL,
         roles TEXT NOT NULL,
         digest TEXT NOT NULL,
         created_by TEXT NOT NULL,
         created_at_us INTEGER NOT NULL,
         expires_at_us INTEGER NOT NULL,
         last_used_at_us INTEGER NOT NULL,
         revoked_at_us INTEGER NOT NULL,
         redeemed_by TEXT NOT NULL) WITHOUT ROWID;)",
    // One row per machine that joined with a join token; a token may admit several machines. The
    // newest redemption of a token has the greatest rowid.
    R"(CREATE TABLE redemptions(
         token TEXT NOT NULL,
         redeemer TEXT NOT NULL,
         UNIQUE(token, redeemer));
       INSERT INTO redemptions SELECT id, redeemed_by FROM tokens WHERE redeemed_by <> '';
       ALTER TABLE tokens DROP COLUMN redeemed_by;
       ALTER TABLE tokens ADD COLUMN uses_max INTEGER NOT NULL DEFAULT 1;)"};

constexpr char kSelectTokens[] =
    "SELECT id, kind, name, roles, digest, created_by, created_at_us, expires_at_us, "
    "last_used_at_us, revoked_at_us, uses_max, "
    "(SELECT count(*) FROM redemptions WHERE token = id), "
    "(SELECT redeemer FROM redemptions WHERE token = id ORDER BY rowid DESC LIMIT 1) FROM tokens";

// Takes one use of the token and returns its id; no row if no use is left or it was revoked.
constexpr char kRedeem[] =
    "INSERT INTO redemptions SELECT id, ?2 FROM tokens WHERE id = ?1 AND revoked_at_us = 0 AND "
    "(SELECT count(*) FROM redemptions WHERE token = ?1) < uses_max RETURNING token";

// The file stores an absent time as 0.
int64_t Microseconds(const std::optional<WallTime>& time) {
  return time ? time->time_since_epoch().count() : 0;
}

std::optional<WallTime> OptionalTime(int64_t microseconds) {
  if (microseconds == 0) return std::nullopt;
  return WallTime(std::chrono::microseconds(microseconds));
}

Status CheckTokenName(const std::string& name) {
  bool fits = !name.empty() && name.size() <= kTokenNameBytesMax;
  for (const char c : name) fits = fits && c > ' ' && c < 127;
  if (fits) return OkStatus();
  return InvalidArgument(
      "a token's name has 1 to {} printable ASCII characters without blanks, such as alice or "
      "ci-nightly",
      kTokenNameBytesMax);
}

Status CheckWanted(const NewToken& wanted, WallTime now) {
  RETURN_IF_ERROR(CheckTokenName(wanted.name));
  const bool joins = wanted.kind == rpc::TokenKind::kJoin;
  if (joins && !wanted.roles.empty()) {
    return InvalidArgument("a join token has no role: it lets one machine join as a node");
  }
  if (joins && !wanted.expires_at) {
    return InvalidArgument("a join token must expire; set its lifetime with --ttl");
  }
  const int uses_most = joins ? kJoinUsesMax : 1;
  if (wanted.uses_max < 1 || wanted.uses_max > uses_most) {
    return InvalidArgument(
        "a join token may have 1 to {} uses, other tokens cannot limit their uses; {} were "
        "requested",
        kJoinUsesMax, wanted.uses_max);
  }
  if (!joins && wanted.roles.empty()) {
    return InvalidArgument("the token has no role; expected viewer, submitter, operator or admin");
  }
  for (const auto& [name, role] : wanted.roles.by_namespace()) {
    if (name != kEveryNamespace) RETURN_IF_ERROR(CheckNamespaceName(name));
  }
  if (wanted.expires_at && *wanted.expires_at <= now) {
    return InvalidArgument("the expiry time of the token is in the past");
  }
  return OkStatus();
}

Status UnknownToken() {
  return Unauthenticated("unknown token: it was made by another coordinator, or it is incomplete");
}

StatusOr<TokenRecord> ReadTokenRow(const SqliteStatement& row) {
  TokenRecord record;
  record.id = row.Text(0);
  record.kind =
      row.Text(1) == Name(rpc::TokenKind::kJoin) ? rpc::TokenKind::kJoin : rpc::TokenKind::kUser;
  record.name = row.Text(2);
  ASSIGN_OR_RETURN(record.roles, ParseRoles(row.Text(3)));
  record.created_by = row.Text(5);
  record.created_at = WallTime(std::chrono::microseconds(row.Int(6)));
  record.expires_at = OptionalTime(row.Int(7));
  record.last_used_at = OptionalTime(row.Int(8));
  record.revoked_at = OptionalTime(row.Int(9));
  record.uses_max = static_cast<int>(row.Int(10));
  record.uses = static_cast<int>(row.Int(11));
  record.redeemed_by = row.Text(12);
  return record;
}

}  // namespace

DatabaseFile TokenDatabase() {
  return {.name = "security/tokens.db",
          .what = "token store",
          .migrations = kTokenMigrations,
          .when_damaged =
              "restore it from a backup, or remove it: every token is then invalid, and the next "
              "start writes a new admin.token"};
}

TokenStore::TokenStore(SqliteConnection database, const Clock& clock)
    : clock_(clock), database_(std::move(database)) {}

StatusOr<std::unique_ptr<TokenStore>> TokenStore::Open(const std::string& security_dir,
                                                       const Clock& clock) {
  RETURN_IF_ERROR(WithContext(MakeDirectories(security_dir, 0700), "security directory"));
  const std::string path = JoinPath(security_dir, BaseNameOf(TokenDatabase().name));
  ASSIGN_OR_RETURN(SqliteConnection database, OpenDatabase(path, TokenDatabase()));
  std::unique_ptr<TokenStore> store(new TokenStore(std::move(database), clock));
  RETURN_IF_ERROR(store->Prepare());
  RETURN_IF_ERROR(WithContext(store->Load(), path));
  store->flusher_ = std::jthread([raw = store.get()] { raw->FlushLoop(); });
  return store;
}

TokenStore::~TokenStore() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    stopping_.NotifyAll();
  }
  if (flusher_.joinable()) flusher_.join();
}

Status TokenStore::Prepare() {
  MutexLock disk(disk_mutex_);
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&insert_, "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?)"},
      {&has_redeemed_, "SELECT 1 FROM redemptions WHERE token = ? AND redeemer = ?"},
      {&redeem_, kRedeem},
      {&revoke_, "UPDATE tokens SET revoked_at_us = ? WHERE id = ?"},
      {&set_used_, "UPDATE tokens SET last_used_at_us = ? WHERE id = ?"}};
  for (const auto& [statement, sql] : statements) {
    ASSIGN_OR_RETURN(*statement, database_.Prepare(sql));
  }
  return OkStatus();
}

Status TokenStore::Load() {
  MutexLock disk(disk_mutex_);
  const int64_t forget_before = Microseconds(clock_.WallNow() - kKeptAfterEnd);
  RETURN_IF_ERROR(database_.Execute(
      fmt::format("DELETE FROM tokens WHERE (expires_at_us > 0 AND expires_at_us < {0}) OR "
                  "(revoked_at_us > 0 AND revoked_at_us < {0}); "
                  "DELETE FROM redemptions WHERE token NOT IN (SELECT id FROM tokens)",
                  forget_before)));
  ASSIGN_OR_RETURN(SqliteStatement select, database_.Prepare(kSelectTokens));
  MutexLock lock(mutex_);
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return OkStatus();
    ASSIGN_OR_RETURN(TokenRecord record, ReadTokenRow(select));
    Entry entry{.digest = select.Text(4), .used_at = record.last_used_at};
    const std::string id = record.id;
    entry.record = std::make_shared<const TokenRecord>(std::move(record));
    entries_.insert_or_assign(id, std::move(entry));
  }
}

Status TokenStore::Insert(const TokenRecord& record, const std::string& digest) {
  insert_.Bind(1, record.id).Bind(2, Name(record.kind)).Bind(3, record.name);
  insert_.Bind(4, record.roles.Text()).Bind(5, digest).Bind(6, record.created_by);
  insert_.Bind(7, Microseconds(record.created_at)).Bind(8, Microseconds(record.expires_at));
  insert_.Bind(9, int64_t{record.uses_max});
  return insert_.Run();
}

StatusOr<IssuedToken> TokenStore::Create(const NewToken& wanted) {
  const WallTime now = clock_.WallNow();
  RETURN_IF_ERROR(CheckWanted(wanted, now));
  IssuedToken issued{rpc::MakeToken(wanted.kind, ca_digest_), {}};
  issued.record = {.id = issued.token.id,
                   .kind = wanted.kind,
                   .name = wanted.name,
                   .roles = wanted.roles,
                   .created_by = wanted.created_by,
                   .created_at = now,
                   .expires_at = wanted.expires_at,
                   .uses_max = wanted.uses_max};
  const std::string digest = formats::Sha256Hex(issued.token.secret);
  MutexLock disk(disk_mutex_);
  {
    MutexLock lock(mutex_);
    if (entries_.size() >= kTokensMax) {
      return ResourceExhausted(
          "there are {} tokens, the maximum; the coordinator deletes tokens 30 days after they "
          "expire or are revoked, when it starts",
          entries_.size());
    }
  }
  RETURN_IF_ERROR(Insert(issued.record, digest));
  MutexLock lock(mutex_);
  entries_[issued.record.id] = {.record = std::make_shared<const TokenRecord>(issued.record),
                                .digest = digest};
  return issued;
}

// An unknown id costs the same comparison as a known one, and gives the same answer.
StatusOr<TokenStore::Entry*> TokenStore::FindSecret(const rpc::Token& token) {
  const auto found = entries_.find(token.id);
  const std::string digest = formats::Sha256Hex(token.secret);
  const std::string& stored = found == entries_.end() ? digest : found->second.digest;
  const bool same = stored.size() == digest.size() &&
                    CRYPTO_memcmp(stored.data(), digest.data(), digest.size()) == 0;
  if (found == entries_.end() || !same) return UnknownToken();
  return &found->second;
}

Status TokenStore::CheckUsable(const TokenRecord& record) const {
  if (record.revoked_at) {
    return Unauthenticated("the token {} ({}) was revoked; ask an admin for a new one", record.id,
                           record.name);
  }
  if (record.expires_at && *record.expires_at <= clock_.WallNow()) {
    return Unauthenticated("the token {} ({}) has expired; ask an admin for a new one", record.id,
                           record.name);
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<const TokenRecord>> TokenStore::Authenticate(const rpc::Token& token) {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(Entry * entry, FindSecret(token));
  if (entry->record->kind != rpc::TokenKind::kUser || token.kind != rpc::TokenKind::kUser) {
    return Unauthenticated(
        "this is a join token: it lets a machine join as a node and nothing else");
  }
  RETURN_IF_ERROR(CheckUsable(*entry->record));
  entry->used_at = clock_.WallNow();
  entry->used_since_flush = true;
  return entry->record;
}

Status TokenStore::Check(const std::string& id) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? UnknownToken() : CheckUsable(*found->second.record);
}

StatusOr<bool> TokenStore::HasRedeemed(const std::string& id, const std::string& redeemer) {
  const StatusOr<bool> found = has_redeemed_.Bind(1, id).Bind(2, redeemer).Step();
  has_redeemed_.Reset();
  return found;
}

StatusOr<bool> TokenStore::WriteRedeemed(const std::string& id, const std::string& redeemer) {
  RETURN_IF_ERROR(database_.Execute("BEGIN IMMEDIATE"));
  redeem_.Bind(1, id).Bind(2, redeemer);
  const StatusOr<bool> changed = redeem_.Step();
  redeem_.Reset();
  Failpoint("tokens.before_commit");
  const Status committed = changed.ok() ? database_.Execute("COMMIT") : changed.status();
  if (!committed.ok()) {
    if (database_.InTransaction()) RETURN_IF_ERROR(database_.Execute("ROLLBACK"));
    return committed;
  }
  Failpoint("tokens.after_commit");
  return *changed;
}

StatusOr<TokenRecord> TokenStore::Redeem(const rpc::Token& token, const std::string& redeemer) {
  MutexLock disk(disk_mutex_);
  TokenRecord record;
  {
    MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(const Entry* entry, FindSecret(token));
    record = RecordOf(*entry);
  }
  if (record.kind != rpc::TokenKind::kJoin || token.kind != rpc::TokenKind::kJoin) {
    return Unauthenticated(
        "this is a user's token; a machine joins with the token that 'gpctl token create --join' "
        "makes");
  }
  RETURN_IF_ERROR(CheckUsable(record));
  ASSIGN_OR_RETURN(const bool again, HasRedeemed(record.id, redeemer));
  if (again) return record;
  ASSIGN_OR_RETURN(const bool redeemed, WriteRedeemed(record.id, redeemer));
  if (!redeemed) {
    return Unauthenticated(
        "the join token {} is used up: it admits {}; ask an admin for another", record.id,
        record.uses_max == 1 ? "one machine" : fmt::format("{} machines", record.uses_max));
  }
  ++record.uses;
  record.redeemed_by = redeemer;
  Put(record);
  return record;
}

StatusOr<TokenRecord> TokenStore::Revoke(const std::string& id) {
  MutexLock disk(disk_mutex_);
  ASSIGN_OR_RETURN(TokenRecord record, Find(id));
  if (record.revoked_at) return record;
  record.revoked_at = clock_.WallNow();
  RETURN_IF_ERROR(revoke_.Bind(1, Microseconds(record.revoked_at)).Bind(2, id).Run());
  Put(record);
  return record;
}

void TokenStore::Put(TokenRecord record) {
  MutexLock lock(mutex_);
  Entry& entry = entries_[record.id];
  entry.record = std::make_shared<const TokenRecord>(std::move(record));
}

TokenRecord TokenStore::RecordOf(const Entry& entry) const {
  TokenRecord record = *entry.record;
  record.last_used_at = entry.used_at;
  return record;
}

StatusOr<TokenRecord> TokenStore::Find(const std::string& id) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) {
    return NotFound("no token has the id '{}'; 'gpctl token list' shows them", id.substr(0, 32));
  }
  return RecordOf(found->second);
}

std::vector<TokenRecord> TokenStore::List() const {
  std::vector<TokenRecord> records;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, entry] : entries_) records.push_back(RecordOf(entry));
  }
  std::sort(records.begin(), records.end(), [](const TokenRecord& a, const TokenRecord& b) {
    return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
  });
  return records;
}

void TokenStore::FlushLoop() {
  bool last = false;
  while (!last) {
    {
      MutexLock lock(mutex_);
      const auto deadline = std::chrono::steady_clock::now() + kFlushInterval;
      while (!stopped_ && stopping_.WaitUntil(mutex_, deadline)) {
      }
      last = stopped_;
    }
    FlushUses();
  }
}

void TokenStore::FlushUses() {
  MutexLock disk(disk_mutex_);
  std::vector<std::pair<std::string, WallTime>> uses;
  {
    MutexLock lock(mutex_);
    for (auto& [id, entry] : entries_) {
      if (entry.used_since_flush) uses.emplace_back(id, *entry.used_at);
      entry.used_since_flush = false;
    }
  }
  for (const auto& [id, at] : uses) {
    const Status written = set_used_.Bind(1, Microseconds(at)).Bind(2, id).Run();
    if (written.ok()) continue;
    LogWarning("cannot record when a token was last used",
               {{"token", id}, {"error", gp::Message(written)}});
    return;
  }
}

}  // namespace gp::coordinator
