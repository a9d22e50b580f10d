#include "formats/directory_format.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/durable_rename.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/file_copy.h"
#include "formats/json_object.h"

namespace gp::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kFormatFileBytesMax = 4096;

Status CopyTree(const std::string& from, const std::string& to) {
  struct stat info {};
  if (lstat(from.c_str(), &info) != 0) {
    return errno == ENOENT ? OkStatus() : ErrnoStatus(errno, "stat", from);
  }
  if (!S_ISDIR(info.st_mode)) return CopyFile(from, to, info.st_mode & 0777).status();
  RETURN_IF_ERROR(MakeDirectories(to, info.st_mode & 0777));
  ASSIGN_OR_RETURN(const auto names, ListDirectory(from));
  for (const std::string& name : names) {
    RETURN_IF_ERROR(CopyTree(JoinPath(from, name), JoinPath(to, name)));
  }
  return SyncDirectory(to);
}

// Copies the files before a migration changes them. Keeps an existing copy: an earlier attempt,
// killed during the migration, made it from the original files, which the directory may no longer
// have.
Status KeepCopies(const std::string& directory, const std::vector<std::string>& names,
                  int version) {
  const std::string copy = JoinPath(directory, fmt::format("before-v{}", version));
  if (names.empty() || FileExists(copy)) return OkStatus();
  const std::string partial = copy + ".partial";
  RETURN_IF_ERROR(RemoveTree(partial));
  RETURN_IF_ERROR(MakeDirectories(partial, 0700));
  for (const std::string& name : names) {
    RETURN_IF_ERROR(CopyTree(JoinPath(directory, name), JoinPath(partial, name)));
  }
  RETURN_IF_ERROR(SyncDirectory(partial));
  return RenameDurably(partial, copy);
}

Status WriteVersion(const std::string& directory, const DirectoryFormat& format, int version) {
  const Json json = {{"format", format.name}, {"version", version}};
  return WriteFileAtomically(JoinPath(directory, kFormatFileName), json.dump() + "\n");
}

Status ApplyMigration(const std::string& directory, const DirectoryFormat& format, int from) {
  const DirectoryMigration& migration = format.migrations[static_cast<size_t>(from - 1)];
  RETURN_IF_ERROR(KeepCopies(directory, migration.changes, from + 1));
  Failpoint("directory.after_copies");
  RETURN_IF_ERROR(migration.apply(directory));
  Failpoint("directory.before_version");
  RETURN_IF_ERROR(WriteVersion(directory, format, from + 1));
  Failpoint("directory.after_version");
  return OkStatus();
}

}  // namespace

StatusOr<int> ReadDirectoryVersion(const std::string& directory, const DirectoryFormat& format) {
  const std::string path = JoinPath(directory, kFormatFileName);
  const auto text = ReadFile(path, kFormatFileBytesMax);
  if (text.status().code() == StatusCode::kNotFound) return 1;
  RETURN_IF_ERROR(text.status());
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  JsonObject object(json, path, "expected the version of a " + format.what);
  std::string name;
  int64_t version = 0;
  object.Read("format", name);
  object.Read("version", version);
  RETURN_IF_ERROR(object.status());
  if (name != format.name || version < 1) {
    return DataLoss("{}: '{}' version {}; expected '{}' version 1 to {}", path, name, version,
                    format.name, format.newest());
  }
  if (version <= format.newest()) return static_cast<int>(version);
  return FailedPrecondition(
      "the {} {} has version {}, written by a newer gp; this gp reads versions up to {}; upgrade "
      "gp",
      format.what, directory, version, format.newest());
}

Status MigrateDirectory(const std::string& directory, const DirectoryFormat& format) {
  ASSIGN_OR_RETURN(const int version, ReadDirectoryVersion(directory, format));
  for (int from = version; from < format.newest(); ++from) {
    RETURN_IF_ERROR(WithContext(
        ApplyMigration(directory, format, from),
        fmt::format("migrate the {} {} to version {}", format.what, directory, from + 1)));
  }
  if (FileExists(JoinPath(directory, kFormatFileName))) return OkStatus();
  return WriteVersion(directory, format, format.newest());
}

}  // namespace gp::formats
