#include "coordinator/storage_root.h"

#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/random_id.h"

namespace gp::coordinator {
namespace {

// Below this not even a tiny checkpoint fits.
constexpr uint64_t kFreeBytesMin = 16 << 20;

}  // namespace

StatusOr<StorageRoot> StorageRoot::Open(const std::string& path) {
  std::string absolute = AbsolutePath(path, std::filesystem::current_path().string());
  if (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  RETURN_IF_ERROR(WithContext(MakeDirectories(JoinPath(absolute, "runs")), "storage root"));
  const std::string probe_path = JoinPath(absolute, ".gp-probe");
  if (!FileExists(probe_path)) {
    RETURN_IF_ERROR(WithContext(WriteFileAtomically(probe_path, RandomHex(16)), "storage root"));
  }
  ASSIGN_OR_RETURN(std::string probe, ReadFile(probe_path, 4096));
  if (probe.empty()) {
    return DataLoss("{} is empty; remove it, then start the coordinator and the agents again",
                    probe_path);
  }
  return StorageRoot(absolute, std::move(probe));
}

std::string StorageRoot::RunDirectory(const RunId& run) const {
  return JoinPath(JoinPath(path_, "runs"), run.value());
}

Status StorageRoot::CheckWritable() const {
  const std::string runs = JoinPath(path_, "runs");
  if (access(runs.c_str(), W_OK) != 0) {
    return FailedPrecondition("the coordinator cannot write to {}; runs could not save anything",
                              runs);
  }
  ASSIGN_OR_RETURN(const uint64_t free_bytes, FreeBytes(runs));
  if (free_bytes >= kFreeBytesMin) return OkStatus();
  return ResourceExhausted(
      "only {} bytes are free on {}; free some, runs need room for checkpoints", free_bytes, runs);
}

}  // namespace gp::coordinator
