#include "worker/trainer/data_failure.h"

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "formats/checkpoint_manifest.h"
#include "formats/path_pattern.h"
#include "runspec/named_file.h"

namespace gp::engine {
namespace {

using contract::ExitCause;

constexpr size_t kNamedMax = 3;

}  // namespace

ExitCause CauseOfUnusableData(const Status& status, bool begun) {
  switch (status.code()) {
    case StatusCode::kNotFound:
    case StatusCode::kPermissionDenied:
      return ExitCause::kData;
    case StatusCode::kInternal:
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
      return ExitCause::kStorage;
    default:
      return begun ? ExitCause::kData : ExitCause::kConfig;
  }
}

void ThrowIfUnusable(const Status& status, bool begun) {
  if (!status.ok()) throw TrainingError(CauseOfUnusableData(status, begun), Message(status));
}

std::string FilesModifiedSince(const std::string& checkpoint, const runspec::RunSpec& spec) {
  std::error_code error;
  const auto saved =
      std::filesystem::last_write_time(JoinPath(checkpoint, formats::kManifestName), error);
  if (error) return "";
  std::string names;
  size_t count = 0;
  for (const runspec::NamedFile& file : runspec::FilesNamedBy(spec)) {
    const auto paths = formats::ExpandPatterns({file.path}, file.key);
    if (!paths.ok()) continue;
    for (const std::string& path : *paths) {
      const auto modified = std::filesystem::last_write_time(path, error);
      if (error || modified <= saved || ++count > kNamedMax) continue;
      names += (names.empty() ? "" : ", ") + path;
    }
  }
  if (names.empty()) return "";
  return "; modified since: " + names + (count > kNamedMax ? ", …" : "");
}

}  // namespace gp::engine
