// DirectoryFormat: the numbered layout of a directory written by programs of several versions: a
// run's directory, an agent's state. The number is in the directory's format.json
// (docs/formats/versions.md). Functions over one directory, which its owner has locked or which one
// process writes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace gp::formats {

inline constexpr char kFormatFileName[] = "format.json";

// Brings a directory from one version to the next.
struct DirectoryMigration {
  // Names in the directory that `apply` replaces or removes. They are copied before it runs.
  std::vector<std::string> changes;
  // Must give the same result when it is repeated: after a kill in the middle it runs again.
  std::function<Status(const std::string& directory)> apply;
};

struct DirectoryFormat {
  std::string name;  // in format.json: "gp-run"
  std::string what;  // for messages: "run directory"
  // Element i brings version i + 1 to version i + 2. A directory without format.json has version 1.
  std::vector<DirectoryMigration> migrations;

  int newest() const { return static_cast<int>(migrations.size()) + 1; }
};

// The version of `directory`. FailedPrecondition when a newer gp wrote it. DataLoss when
// format.json is damaged or belongs to a directory of another kind.
StatusOr<int> ReadDirectoryVersion(const std::string& directory, const DirectoryFormat& format);

// Migrates `directory`, which exists, to the newest version and records that in format.json. First
// copies the files that a migration from version N changes to before-v<N+1>/. On an error or a kill
// the directory keeps its version, and the next call resumes. Errors as above.
Status MigrateDirectory(const std::string& directory, const DirectoryFormat& format);

}  // namespace gp::formats
