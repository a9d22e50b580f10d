#include "worker/trainer/checkpoint_retention.h"

#include <algorithm>
#include <cmath>

#include "formats/checkpoint_directory.h"

namespace gp::engine {

std::vector<std::string> ExpendableCheckpoints(std::vector<StoredCheckpoint> stored,
                                               const runspec::CheckpointSpec& spec) {
  std::sort(stored.begin(), stored.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  const StoredCheckpoint* best = nullptr;
  for (const StoredCheckpoint& candidate : stored) {
    if (!spec.keep_best || !candidate.validation_loss) continue;
    // A loss that is no number is worse than any other.
    const bool better = best == nullptr || std::isnan(*best->validation_loss) ||
                        *candidate.validation_loss <= *best->validation_loss;
    if (better) best = &candidate;
  }
  std::vector<std::string> expendable;
  const size_t last_count =
      std::min(static_cast<size_t>(std::max(spec.keep_last, 1)), stored.size());
  int64_t rung = 0;
  for (size_t i = 0; i + last_count < stored.size(); ++i) {
    const int64_t multiple = spec.keep_every > 0 ? stored[i].step / spec.keep_every : 0;
    if (multiple <= rung && &stored[i] != best) expendable.push_back(stored[i].directory);
    rung = std::max(rung, multiple);
  }
  return expendable;
}

Status PruneCheckpoints(const Storage& storage, const std::string& parent,
                        const runspec::CheckpointSpec& spec) {
  ASSIGN_OR_RETURN(const auto found, formats::FindCheckpoints(storage, parent));
  std::vector<StoredCheckpoint> stored;
  for (const auto& [directory, manifest] : found) {
    if (manifest.ok()) stored.push_back({directory, manifest->step, manifest->validation_loss});
  }
  for (const std::string& directory : ExpendableCheckpoints(std::move(stored), spec)) {
    RETURN_IF_ERROR(formats::DeleteCheckpoint(storage, directory));
  }
  return OkStatus();
}

}  // namespace gp::engine
