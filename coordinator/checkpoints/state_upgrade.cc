#include "coordinator/checkpoints/state_upgrade.h"

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/log.h"
#include "coordinator/access/node_registry.h"
#include "coordinator/access/token_store.h"
#include "coordinator/checkpoints/state_backup.h"
#include "coordinator/notifications/notification_queue.h"
#include "coordinator/store/sqlite_store.h"

namespace gp::coordinator {
namespace {

std::array<DatabaseFile, 4> Databases() {
  return {StoreDatabase(), TokenDatabase(), NodeDatabase(), NotificationDatabase()};
}

// Returns 0 when the file is absent, empty or damaged; opening it reports the damage. Returns any
// other error: an unreadable file may still be older.
StatusOr<int> VersionIn(const std::string& state_dir, const DatabaseFile& file) {
  const std::string path = JoinPath(state_dir, file.name);
  const StatusOr<int> version = ReadDatabaseVersion(path);
  const StatusCode code = version.status().code();
  if (code == StatusCode::kNotFound || code == StatusCode::kDataLoss) return 0;
  RETURN_IF_ERROR(WithContext(version.status(), "read the version of " + path));
  return *version;
}

bool IsReadable(const std::string& state_dir) {
  const auto databases = Databases();
  return std::all_of(databases.begin(), databases.end(), [&](const DatabaseFile& file) {
    const StatusOr<int> version = VersionIn(state_dir, file);
    return version.ok() && *version <= file.newest();
  });
}

StatusOr<bool> IsOlder(const std::string& state_dir) {
  for (const DatabaseFile& file : Databases()) {
    ASSIGN_OR_RETURN(const int version, VersionIn(state_dir, file));
    if (version > 0 && version < file.newest()) return true;
  }
  return false;
}

std::string BackupsIn(const std::string& state_dir) { return JoinPath(state_dir, "backups"); }

// Advice for the operator when the state is too new for this program.
std::string WayBack(const std::string& state_dir) {
  const std::string folder = BackupsIn(state_dir);
  std::string readable;
  for (const std::string& name : ListDirectory(folder).value_or(std::vector<std::string>())) {
    const std::string backup = JoinPath(folder, name);
    if (name.ends_with(".partial") || !FileExists(JoinPath(backup, StoreDatabase().name))) continue;
    if (IsReadable(backup)) readable += (readable.empty() ? "" : ", ") + backup;
  }
  if (readable.empty()) return "install that version";
  return fmt::format(
      "install that version, or move {} away and restore (--restore) a backup that this version "
      "reads: {}",
      state_dir, readable);
}

// "backups/version-1"; "backups/version-1-2" if that exists.
StatusOr<std::string> FreeBackupName(const std::string& state_dir) {
  ASSIGN_OR_RETURN(const int version, VersionIn(state_dir, StoreDatabase()));
  const std::string name = JoinPath(BackupsIn(state_dir), fmt::format("version-{}", version));
  std::string free = name;
  for (int number = 2; FileExists(free); ++number) free = fmt::format("{}-{}", name, number);
  return free;
}

}  // namespace

Status CheckNotNewer(const std::string& state_dir) {
  for (const DatabaseFile& file : Databases()) {
    ASSIGN_OR_RETURN(const int version, VersionIn(state_dir, file));
    if (version <= file.newest()) continue;
    const std::string path = JoinPath(state_dir, file.name);
    return FailedPrecondition(
        "the {} {} has version {}, written by a newer gp{}; this gp reads versions up to {}: {}",
        file.what, path, version, WrittenBy(state_dir), file.newest(), WayBack(state_dir));
  }
  return OkStatus();
}

StatusOr<std::string> BackUpOlderState(const std::string& state_dir, const daemon::StateLock&,
                                       const Clock& clock) {
  RETURN_IF_ERROR(CheckNotNewer(state_dir));
  ASSIGN_OR_RETURN(const bool is_older, IsOlder(state_dir));
  if (!is_older) return std::string();
  ASSIGN_OR_RETURN(const std::string backup, FreeBackupName(state_dir));
  LogInfo("backing up the state before migration", {{"state_dir", state_dir}, {"to", backup}});
  RETURN_IF_ERROR(MakeDirectories(BackupsIn(state_dir), 0700));
  RETURN_IF_ERROR(WithContext(BackUpState(state_dir, backup, clock).status(),
                              "cannot back up the state before migration; the state is unchanged"));
  return backup;
}

}  // namespace gp::coordinator
