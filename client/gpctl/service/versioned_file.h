// Small files that gpctl writes and that later versions of gpctl read: contexts and the record of a
// local service. Each has its version as `apiVersion: gp/v1` (docs/formats/versions.md). Functions;
// any thread may call.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace gp::gpctl {

struct FileFormat {
  // Element i turns the text of version i + 1 into that of version i + 2, apiVersion included.
  std::vector<std::function<StatusOr<std::string>(const std::string& text)>> migrations;

  int newest() const { return static_cast<int>(migrations.size()) + 1; }
  std::string ApiVersion() const;  // "gp/v1", of the newest version
};

// The text of the YAML or JSON file `path` in the newest version. A file of an older version is
// copied to <path>.v<version>, then replaced; if that cannot be written, only the text is migrated.
// A file without apiVersion has version 1. Text that is not a map of YAML is returned as it is and
// the file stays: the caller's parser reports the damage. FailedPrecondition when a newer gpctl
// wrote it, InvalidArgument when apiVersion is not a version.
StatusOr<std::string> ReadVersionedFile(const std::string& path, uint64_t size_bytes_max,
                                        const FileFormat& format);

}  // namespace gp::gpctl
