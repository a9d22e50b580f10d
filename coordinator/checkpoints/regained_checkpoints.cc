#include "coordinator/checkpoints/regained_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "formats/checkpoint_directory.h"
#include "formats/sha256.h"

namespace gp::coordinator {
namespace {

constexpr char kActor[] = "restore";
constexpr char kRestored[] = "the coordinator was restored from a backup";
constexpr Epoch kEpochsSinceBackupMax = 100'000;  // placements of one run
constexpr size_t kRegainedMax = 2;                // the minimum that retention keeps

std::string CheckpointsOf(const Run& run) {
  return JoinPath(run.submission->run_directory, "checkpoints");
}

bool IsFinal(const Run& run, const formats::CheckpointManifest& manifest) {
  const Submission& submission = *run.submission;
  return (submission.target_steps > 0 && manifest.step >= submission.target_steps) ||
         (submission.target_tokens > 0 && manifest.tokens >= submission.target_tokens);
}

int64_t NewestStep(const Run& run) {
  return run.checkpoints.empty() ? -1 : run.checkpoints.back().step;
}

bool IsSuperseded(const Run& run, const std::string& directory) {
  return std::any_of(
      run.superseded.begin(), run.superseded.end(),
      [&](const SealedCheckpoint& checkpoint) { return checkpoint.directory == directory; });
}

// Whether the run was placed before and its ranks may start again from a checkpoint.
bool GoesOn(const Run& run) {
  const bool waits = IsWaiting(run.state) && !run.gave_up;
  const bool runs = run.state == RunState::kStarting || run.state == RunState::kRunning;
  return (waits || runs) && !run.placement.empty();
}

// Limits the epoch of a manifest. Other users may be able to write to the shared storage root, and
// Regainer appends one placement for each epoch up to this one.
Status CheckEpoch(const Run& run, const formats::FoundCheckpoint& found) {
  const Epoch epoch_max = run.epoch + kEpochsSinceBackupMax;
  if (found.manifest->epoch <= epoch_max) return OkStatus();
  return DataLoss("{}: its manifest names epoch {}; expected at most {}", found.directory,
                  found.manifest->epoch, epoch_max);
}

StatusOr<UnlistedCheckpoint> Read(const Storage& storage, const Run& run,
                                  const formats::FoundCheckpoint& found) {
  RETURN_IF_ERROR(CheckEpoch(run, found));
  RETURN_IF_ERROR(formats::VerifyDigests(storage, found.directory).status());
  ASSIGN_OR_RETURN(
      const std::string text,
      storage.Get(JoinPath(found.directory, formats::kManifestName), formats::kManifestBytesMax));
  const formats::CheckpointManifest& manifest = *found.manifest;
  return UnlistedCheckpoint{manifest.epoch,
                            {.step = manifest.step,
                             .directory = found.directory,
                             .manifest_digest = formats::Sha256Hex(text),
                             .size_bytes = manifest.SizeBytes() + text.size(),
                             .validation_loss = manifest.validation_loss}};
}

// False only if nothing has this name. Returns the storage's error if it cannot tell, for example
// because the directory belongs to another user or the disk fails.
StatusOr<bool> IsThere(const Storage& storage, const std::string& directory) {
  const Status listed = storage.List(directory).status();
  if (listed.code() == StatusCode::kNotFound) return false;
  RETURN_IF_ERROR(listed);
  return true;
}

void WarnOfSkipped(const Run& run, const Status& why) {
  LogWarning("could not recover a checkpoint from its directory",
             {{"run", run.id}, {"error", gp::Message(why)}});
}

// Collects the events that bring a run's catalogue up to date, in an order in which they can be
// applied.
class Regainer {
 public:
  Regainer(const Run& run, Timestamp at)
      : run_(run), at_(at), epoch_(run.epoch), holds_slots_(run.holds_slots) {}

  // `epoch`: as CheckpointDamaged::epoch.
  void Lose(int64_t step, Epoch epoch = 0) {
    Add(CheckpointDamaged{step, "its directory is gone", true, epoch});
  }

  void Seal(const UnlistedCheckpoint& unlisted) {
    while (!holds_slots_ || epoch_ < unlisted.epoch) PlaceAgain();
    Add(CheckpointSealed{epoch_, unlisted.checkpoint, run_.leg.number});
  }

  std::vector<Event> Finish() {
    if (placed_) Add(RunRequeued{epoch_, kRestored});
    return std::move(events_);
  }

 private:
  // Adds a placement that stands for one made after the backup. No agent receives it.
  void PlaceAgain() {
    if (holds_slots_) Add(RunRequeued{epoch_, kRestored});
    const SealedCheckpoint* latest = run_.LatestCheckpoint();
    const Engine& engine = run_.leg.engine;
    Add(RunPlaced{++epoch_, run_.placement, kRestored, latest == nullptr ? -1 : latest->step,
                  engine.threads_per_rank, engine.isa, engine.device, run_.leg.number});
    holds_slots_ = true;
    placed_ = true;
  }

  void Add(EventBody body) {
    events_.push_back({.run = run_.id, .at = at_, .actor = kActor, .body = std::move(body)});
  }

  const Run& run_;
  const Timestamp at_;
  Epoch epoch_;
  bool holds_slots_;
  bool placed_ = false;
  std::vector<Event> events_;
};

}  // namespace

Status CheckStorage(const Storage& storage, const std::vector<std::shared_ptr<const Run>>& live) {
  std::string absent;
  Status unseen = OkStatus();
  for (const std::shared_ptr<const Run>& run : live) {
    if (run->placement.empty()) continue;  // never placed, so it may have no directory
    const std::string& directory = run->submission->run_directory;
    const StatusOr<bool> there = IsThere(storage, directory);
    if (there.ok() && *there) return OkStatus();
    if (!there.ok() && unseen.ok()) unseen = there.status();
    if (absent.empty()) absent = directory;
  }
  RETURN_IF_ERROR(unseen);
  if (absent.empty()) return OkStatus();
  return FailedPrecondition(
      "the directories of all unfinished runs are missing, such as {}; mount the storage root "
      "first, name it with --storage-root, or create this directory if all of them are lost: the "
      "runs then start over",
      absent);
}

StatusOr<std::vector<UnlistedCheckpoint>> FindUnlisted(const Storage& storage, const Run& run) {
  ASSIGN_OR_RETURN(const auto found, formats::FindCheckpoints(storage, CheckpointsOf(run)));
  std::vector<UnlistedCheckpoint> unlisted;
  for (const formats::FoundCheckpoint& one : found) {
    if (unlisted.size() == kRegainedMax) break;
    if (!one.manifest.ok()) {
      WarnOfSkipped(run, one.manifest.status());
      continue;
    }
    if (one.manifest->run_id != run.id.value() || IsSuperseded(run, one.directory)) continue;
    if (one.manifest->step <= NewestStep(run) || IsFinal(run, *one.manifest)) continue;
    const bool known = !unlisted.empty() && unlisted.back().checkpoint.step == one.manifest->step;
    if (known) continue;
    auto whole = Read(storage, run, one);
    if (whole.ok()) {
      unlisted.push_back(*std::move(whole));
    } else {
      WarnOfSkipped(run, whole.status());
    }
  }
  std::reverse(unlisted.begin(), unlisted.end());
  return unlisted;
}

// Checks only the directories and reads no manifest, because there may be many runs and the storage
// may be slow.
ListedCheckpoints GoneOf(const Storage& storage, const Run& run) {
  ListedCheckpoints listed;
  const auto is_gone = [&](const SealedCheckpoint& checkpoint) {
    if (checkpoint.retired) return false;
    const StatusOr<bool> there = IsThere(storage, checkpoint.directory);
    return there.ok() && !*there;
  };
  for (const SealedCheckpoint& one : run.checkpoints) {
    if (is_gone(one)) listed.gone.push_back(one.step);
  }
  for (const SealedCheckpoint& one : run.superseded) {
    if (is_gone(one)) listed.gone_superseded.push_back({one.step, one.epoch});
  }
  return listed;
}

ListedCheckpoints CheckListed(const Storage& storage, const Run& run) {
  ListedCheckpoints listed = GoneOf(storage, run);
  for (const SealedCheckpoint& checkpoint : run.checkpoints) {
    if (checkpoint.retired ||
        std::ranges::find(listed.gone, checkpoint.step) != listed.gone.end()) {
      continue;
    }
    const Status read = formats::ReadManifest(storage, checkpoint.directory).status();
    if (!read.ok()) listed.unreadable.push_back({checkpoint.step, gp::Message(read)});
  }
  return listed;
}

std::vector<Event> Regain(const Run& run, const std::vector<UnlistedCheckpoint>& unlisted,
                          const ListedCheckpoints& listed, Timestamp at) {
  Regainer regainer(run, at);
  for (const int64_t step : listed.gone) regainer.Lose(step);
  for (const CheckpointKey& key : listed.gone_superseded) regainer.Lose(key.step, key.epoch);
  if (GoesOn(run)) {
    for (const UnlistedCheckpoint& one : unlisted) regainer.Seal(one);
  }
  return regainer.Finish();
}

Status AppendAndApply(const std::vector<Event>& events, Store& store, Cluster& cluster) {
  for (const Event& event : events) RETURN_IF_ERROR(Apply(event, cluster));
  return events.empty() ? OkStatus() : store.Append(events).status();
}

std::vector<std::shared_ptr<const Run>> LiveRuns(const Cluster& cluster) {
  std::vector<std::shared_ptr<const Run>> runs;
  for (const auto& [sequence, id] : cluster.live) {
    if (!cluster.faulty.contains(id)) runs.push_back(cluster.FindRun(id));
  }
  return runs;
}

Status LoseGone(const Storage& storage, Cluster& cluster, Store& store, Timestamp at) {
  std::vector<Event> lost;
  cluster.runs.ForEach([&](const RunId& id, const std::shared_ptr<const Run>& run) {
    if (cluster.faulty.contains(id)) return;
    const auto events = Regain(*run, {}, GoneOf(storage, *run), at);
    lost.insert(lost.end(), events.begin(), events.end());
  });
  return AppendAndApply(lost, store, cluster);
}

}  // namespace gp::coordinator
