#include "coordinator/checkpoints/state_backup.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <vector>

#include "base/durable_rename.h"
#include "base/file.h"
#include "base/file_copy.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/access/node_registry.h"
#include "coordinator/access/token_store.h"
#include "coordinator/checkpoints/regained_checkpoints.h"
#include "coordinator/checkpoints/state_upgrade.h"
#include "coordinator/checkpoints/storage_root.h"
#include "coordinator/control/replay.h"
#include "coordinator/notifications/notification_queue.h"
#include "coordinator/store/database_file.h"
#include "coordinator/store/sqlite_store.h"
#include "daemon/state_lock.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

constexpr const char* kReplacedFolders[] = {"runs", "audit"};
constexpr char kStaging[] = "restore";  // exists while a restore is under way, or after it failed
constexpr std::array<const char*, 3> kJournalEndings = {"-wal", "-shm", "-journal"};
constexpr std::array<const char*, 3> kFolders = {"runs", "security", "audit"};
constexpr int kTriesMax = 5;  // attempts for a folder in which a file disappears during the copy

std::string StoreIn(const std::string& directory) {
  return JoinPath(directory, StoreDatabase().name);
}

// All databases except the store.
std::array<std::string_view, 3> OtherDatabases() {
  return {TokenDatabase().name, NodeDatabase().name, NotificationDatabase().name};
}

enum class EntryKind { kFile, kFolder, kOther };

EntryKind KindOf(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return EntryKind::kOther;
  if (S_ISDIR(info.st_mode)) return EntryKind::kFolder;
  return S_ISREG(info.st_mode) ? EntryKind::kFile : EntryKind::kOther;
}

bool IsOfDatabase(const std::string& name) { return name.find(".db") != std::string::npos; }

// Copy an index before the file it indexes, so it never points past the copied data.
bool IsCopiedFirst(const std::string& name) {
  return name == "summary" || name == formats::kAuditHeadName;
}

// Copies the plain files below `from`; databases and special files are left out.
Status CopyFolder(const std::string& from, const std::string& to, bool with_databases) {
  RETURN_IF_ERROR(MakeDirectories(to, 0700));
  ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(from));
  std::stable_partition(names.begin(), names.end(), IsCopiedFirst);
  for (const std::string& name : names) {
    if (!with_databases && IsOfDatabase(name)) continue;
    const std::string source = JoinPath(from, name);
    const std::string target = JoinPath(to, name);
    switch (KindOf(source)) {
      case EntryKind::kFolder:
        RETURN_IF_ERROR(CopyFolder(source, target, with_databases));
        break;
      case EntryKind::kFile:
        RETURN_IF_ERROR(CopyFile(source, target, 0600).status());
        break;
      case EntryKind::kOther:
        break;
    }
  }
  return SyncDirectory(to);
}

// Copies a folder in which a running coordinator replaces and removes files.
Status CopyLiveFolder(const std::string& from, const std::string& to) {
  if (!FileExists(from)) return OkStatus();
  for (int tries = 1;; ++tries) {
    const Status copied = CopyFolder(from, to, /*with_databases=*/false);
    if (copied.code() != StatusCode::kNotFound || tries == kTriesMax) return copied;
    RETURN_IF_ERROR(RemoveTree(to));
  }
}

Status CopyDatabases(const std::string& state_dir, const std::string& copy) {
  RETURN_IF_ERROR(MakeDirectories(JoinPath(copy, "security"), 0700));
  for (const std::string_view name : OtherDatabases()) {
    if (!FileExists(JoinPath(state_dir, name))) continue;
    RETURN_IF_ERROR(CopyDatabase(JoinPath(state_dir, name), JoinPath(copy, name)));
  }
  return CopyDatabase(StoreIn(state_dir), StoreIn(copy));
}

// Cuts off a line that was copied in part, so that the copy can be verified.
Status CloseAuditLog(const std::string& directory, const Clock& clock) {
  if (!FileExists(directory)) return OkStatus();
  return AuditLog::Open(directory, clock).status();
}

// Copies points and lines before gp.db, so that the copy has no points of an epoch that its gp.db
// does not know. Copies the audit log last, so that it has a line for every change in the copy.
Status CopyState(const std::string& state_dir, const std::string& copy, const Clock& clock) {
  RETURN_IF_ERROR(CopyLiveFolder(JoinPath(state_dir, "runs"), JoinPath(copy, "runs")));
  RETURN_IF_ERROR(CopyLiveFolder(JoinPath(state_dir, "security"), JoinPath(copy, "security")));
  RETURN_IF_ERROR(CopyDatabases(state_dir, copy));
  const std::string audit = JoinPath(copy, "audit");
  RETURN_IF_ERROR(CopyLiveFolder(JoinPath(state_dir, "audit"), audit));
  RETURN_IF_ERROR(CloseAuditLog(audit, clock));
  return SyncDirectory(copy);
}

// Refuses to run as another user than the owner of `path`: SQLite may create files here (-wal,
// -shm), which would then belong to that user, and the owner could not open them.
Status CheckOwner(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "stat", path);
  if (info.st_uid == geteuid()) return OkStatus();
  return FailedPrecondition("{} belongs to user {}; run this as that user (sudo -u '#{}')", path,
                            info.st_uid, info.st_uid);
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string TextOf(const Run& run, const std::vector<UnlistedCheckpoint>& unlisted,
                   const ListedCheckpoints& listed) {
  const std::string name = fmt::format("run {} ({}): ", run.id, run.submission->name);
  std::string text;
  std::vector<int64_t> missing = listed.gone;
  for (const CheckpointKey& key : listed.gone_superseded) missing.push_back(key.step);
  if (!unlisted.empty() || !missing.empty()) {
    std::vector<int64_t> found;
    for (const UnlistedCheckpoint& one : unlisted) found.push_back(one.checkpoint.step);
    text = fmt::format("{}checkpoints found at steps [{}], missing at steps [{}]\n", name,
                       fmt::join(found, ", "), fmt::join(missing, ", "));
  }
  for (const UnreadableCheckpoint& one : listed.unreadable) {
    text +=
        fmt::format("{}the checkpoint of step {} cannot be read: {}; it stays in the catalogue\n",
                    name, one.step, one.why);
  }
  return text;
}

// Returns what changed, a line for each run.
StatusOr<std::string> RegainAll(SqliteStore& store, Timestamp now) {
  ASSIGN_OR_RETURN(Cluster cluster, ReplayStore(store));
  std::string text;
  const std::vector<std::shared_ptr<const Run>> runs = LiveRuns(cluster);
  RETURN_IF_ERROR(CheckStorage(LocalStorage(), runs));
  for (const std::shared_ptr<const Run>& run : runs) {
    ASSIGN_OR_RETURN(const auto unlisted, FindUnlisted(LocalStorage(), *run));
    const ListedCheckpoints listed = CheckListed(LocalStorage(), *run);
    RETURN_IF_ERROR(AppendAndApply(Regain(*run, unlisted, listed, now), store, cluster));
    text += TextOf(*run, unlisted, listed);
  }
  return fmt::format("{} runs continue\n{}", cluster.live.size(), text);
}

// Refuses a directory that already has a state. SQLite would replay an old journal onto the
// restored database. Existing folders of runs and audit logs may have records newer than the
// backup, so a person must move them away. They are replaced only if a failed restore left them:
// then its folder kStaging still exists.
Status CheckHoldsNoState(const std::string& state_dir) {
  if (FileExists(StoreIn(state_dir))) {
    return AlreadyExists("{} already holds a state; move it away first", state_dir);
  }
  for (const char* ending : kJournalEndings) {
    const std::string journal = StoreIn(state_dir) + ending;
    if (!FileExists(journal)) continue;
    return AlreadyExists("{} is the journal of an earlier database; move {} away first", journal,
                         state_dir);
  }
  if (FileExists(JoinPath(state_dir, kStaging))) return OkStatus();
  for (const char* folder : kReplacedFolders) {
    const std::string path = JoinPath(state_dir, folder);
    if (!FileExists(path)) continue;
    return AlreadyExists("{} belongs to an earlier state; move {} away first", path, state_dir);
  }
  return OkStatus();
}

// Removes what a failed restore left in the copied folders. In security/ only the journals must go:
// everything else there is overwritten.
Status RemoveLeftovers(const std::string& state_dir) {
  for (const char* folder : kReplacedFolders) {
    RETURN_IF_ERROR(RemoveTree(JoinPath(state_dir, folder)));
  }
  for (const std::string_view database : OtherDatabases()) {
    for (const char* ending : kJournalEndings) {
      RETURN_IF_ERROR(RemoveTree(JoinPath(state_dir, std::string(database) + ending)));
    }
  }
  return OkStatus();
}

// Fills the folders of `state_dir` with those of the backup.
Status CopyFolders(const std::string& backup, const std::string& state_dir) {
  RETURN_IF_ERROR(RemoveLeftovers(state_dir));
  for (const char* folder : kFolders) {
    const std::string source = JoinPath(backup, folder);
    if (!FileExists(source)) continue;
    RETURN_IF_ERROR(CopyFolder(source, JoinPath(state_dir, folder), /*with_databases=*/true));
  }
  return OkStatus();
}

// Without it in the backup, no notifications were configured then.
Status CopyNotificationQueue(const std::string& backup, const std::string& state_dir) {
  const std::string_view name = NotificationDatabase().name;
  RETURN_IF_ERROR(RemoveTree(JoinPath(state_dir, name)));
  if (!FileExists(JoinPath(backup, name))) return OkStatus();
  return CopyFile(JoinPath(backup, name), JoinPath(state_dir, name), 0600).status();
}

// Opens the store in `directory`, raises its generation and regains checkpoints. The new generation
// is the number of seconds since 1970. A generation counts starts, so this is higher than every
// generation since the backup, and higher than that of an earlier restore.
StatusOr<std::string> PrepareStore(const std::string& directory, const std::string& storage_root,
                                   WallTime now) {
  ASSIGN_OR_RETURN(auto lock, LockState(directory));
  ASSIGN_OR_RETURN(const auto store,
                   SqliteStore::Open(directory, std::move(lock), {.storage_root = storage_root}));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  RETURN_IF_ERROR(store->RaiseGeneration(static_cast<uint64_t>(seconds.count())));
  return RegainAll(*store, now);
}

}  // namespace

StatusOr<std::string> BackUpState(const std::string& state_dir, const std::string& target,
                                  const Clock& clock) {
  if (state_dir.empty())
    return InvalidArgument("set state.dir (--state-dir), the directory to back up");
  if (!FileExists(StoreIn(state_dir))) {
    return NotFound("{} holds no gp.db; expected a coordinator's state directory", state_dir);
  }
  RETURN_IF_ERROR(CheckOwner(StoreIn(state_dir)));
  const std::string copy = WithoutSlash(target);
  if (FileExists(copy)) return AlreadyExists("{} exists; name a directory that does not", copy);
  const std::string partial = copy + ".partial";
  RETURN_IF_ERROR(RemoveTree(partial));
  RETURN_IF_ERROR(MakeDirectories(partial, 0700));
  RETURN_IF_ERROR(CopyState(state_dir, partial, clock));
  RETURN_IF_ERROR(RenameDurably(partial, copy));
  return fmt::format("{} is a backup of {}\n", copy, state_dir);
}

StatusOr<std::string> RestoreState(const Restore& restore, const Clock& clock) {
  const std::string& state_dir = restore.state_dir;
  const std::string root =
      restore.storage_root.empty() ? "" : StorageRootPath(restore.storage_root);
  if (state_dir.empty())
    return InvalidArgument("set state.dir (--state-dir), the directory to create");
  const std::string from = WithoutSlash(restore.backup);
  if (!FileExists(StoreIn(from)))
    return NotFound("{} holds no gp.db; expected a backup of a state directory", from);
  RETURN_IF_ERROR(CheckNotNewer(from));
  RETURN_IF_ERROR(CheckHoldsNoState(state_dir));
  RETURN_IF_ERROR(MakeDirectories(state_dir, 0700));
  RETURN_IF_ERROR(CheckOwner(state_dir));
  ASSIGN_OR_RETURN(const auto lock, LockState(state_dir));
  RETURN_IF_ERROR(CheckHoldsNoState(state_dir));  // a coordinator may have made one meanwhile
  const std::string staging = JoinPath(state_dir, kStaging);
  RETURN_IF_ERROR(RemoveTree(staging));
  RETURN_IF_ERROR(MakeDirectories(staging, 0700));
  RETURN_IF_ERROR(CopyFile(StoreIn(from), StoreIn(staging), 0600).status());
  ASSIGN_OR_RETURN(const std::string changes, PrepareStore(staging, root, clock.WallNow()));
  RETURN_IF_ERROR(CopyFolders(from, state_dir));
  RETURN_IF_ERROR(CopyNotificationQueue(from, state_dir));
  // Closing the store has moved its journal into the file.
  RETURN_IF_ERROR(RenameDurably(StoreIn(staging), StoreIn(state_dir)));
  RETURN_IF_ERROR(RemoveTree(staging));
  return fmt::format("{} is restored from {}: {}", state_dir, from, changes);
}

}  // namespace gp::coordinator
