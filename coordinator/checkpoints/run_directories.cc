#include "coordinator/checkpoints/run_directories.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/durable_rename.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/log.h"
#include "formats/checkpoint_directory.h"

namespace gp::coordinator {
namespace {

constexpr std::chrono::seconds kAgainDelay{30};  // before a deletion is done again

struct WrittenBy {
  int64_t step = 0;
  Epoch epoch = 0;
};

// Parses "step-00000500-e3-…": step 500, written by epoch 3. Nullopt for any other name.
std::optional<WrittenBy> ParseName(std::string_view name) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const char* const end = name.data() + name.size();
  WrittenBy by;
  const auto step = std::from_chars(name.data() + kPrefix.size(), end, by.step);
  const std::string_view rest(step.ptr, static_cast<size_t>(end - step.ptr));
  if (step.ec != std::errc() || !rest.starts_with("-e")) return std::nullopt;
  if (std::from_chars(rest.data() + 2, end, by.epoch).ec != std::errc()) return std::nullopt;
  return by;
}

// The names of the run's checkpoints in quarantine, and of their marks.
std::unordered_set<std::string> QuarantinedNames(const Run& run) {
  std::unordered_set<std::string> names;
  for (const QuarantinedCheckpoint& held : run.quarantined) {
    const std::string& directory = held.checkpoint.directory;
    names.insert(BaseNameOf(directory));
    names.insert(BaseNameOf(formats::QuarantineMark(directory)));
  }
  return names;
}

// The directory names of those checkpoints that are retired, or that are not. A hash set, because a
// run that saves often has many thousands.
std::unordered_set<std::string> NamesOf(const std::vector<SealedCheckpoint>& checkpoints,
                                        bool retired) {
  std::unordered_set<std::string> names;
  for (const SealedCheckpoint& checkpoint : checkpoints) {
    if (checkpoint.retired == retired) names.insert(BaseNameOf(checkpoint.directory));
  }
  return names;
}

void LogFailure(std::string_view event, const Run& run, const Status& status) {
  if (!status.ok()) LogWarning(event, {{"run", run.id}, {"error", gp::Message(status)}});
}

// Writes the run file of the newest leg, and those of earlier legs as resolved-leg-1.yaml, ….
// run.yaml is a copy of resolved.yaml: submitted again, it gives the same training. submitted.yaml,
// which the user wrote, lacks the values of the preset and of --set.
Status WriteRunFilesOf(const Run& run) {
  const Submission& submission = *run.submission;
  const std::string& directory = submission.run_directory;
  RETURN_IF_ERROR(MakeDirectory(directory));
  for (const EndedLeg& ended : run.ended_legs) {
    const std::string name = fmt::format("resolved-leg-{}.yaml", ended.leg.number);
    RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, name), ended.submission->resolved));
  }
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, "submitted.yaml"), submission.source));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, "resolved.yaml"), submission.resolved));
  return WriteFileAtomically(JoinPath(directory, "run.yaml"), submission.resolved);
}

// The link by which TensorBoard finds a run.
std::string TensorBoardLink(const std::string& run_directory, const std::string& name,
                            const RunId& id) {
  return JoinPath(JoinPath(DirectoryOf(DirectoryOf(run_directory)), "tensorboard"),
                  fmt::format("{}-{}", name, id));
}

// TensorBoard names a run after its folder: `tensorboard --logdir STORAGE/tensorboard` shows names
// instead of ids. The link is relative, so that the storage can move.
Status LinkForTensorBoard(const Run& run) {
  const std::string& directory = run.submission->run_directory;
  if (!FileExists(directory)) return OkStatus();
  const std::string link = TensorBoardLink(directory, run.submission->name, run.id);
  RETURN_IF_ERROR(MakeDirectories(DirectoryOf(link)));
  const std::string target =
      JoinPath(JoinPath("..", BaseNameOf(DirectoryOf(directory))), BaseNameOf(directory));
  if (symlink(target.c_str(), link.c_str()) == 0 || errno == EEXIST) return OkStatus();
  return ErrnoStatus(errno, "symlink", link);
}

std::set<std::string> KeptNames(const DeletedRun& run) {
  std::set<std::string> names;
  for (const std::string& directory : run.kept_checkpoints) names.insert(BaseNameOf(directory));
  return names;
}

}  // namespace

std::vector<std::string> FindOrphans(const Run& run, const std::vector<std::string>& names) {
  const auto kept = NamesOf(run.checkpoints, /*retired=*/false);
  const auto retired = NamesOf(run.checkpoints, /*retired=*/true);
  const auto superseded = NamesOf(run.superseded, /*retired=*/false);
  const auto quarantined = QuarantinedNames(run);
  // The catalogue may not list one that an older version renamed: it may be that of an older
  // backup.
  const std::string renamed = formats::RenamedDamaged("");
  const int64_t newest = run.checkpoints.empty() ? -1 : run.checkpoints.back().step;
  std::vector<std::string> orphans;
  for (const std::string& name : names) {
    const auto by = ParseName(name);
    if (!by || kept.contains(name) || superseded.contains(name)) continue;
    // Only a person deletes a checkpoint in quarantine.
    if (quarantined.contains(name) || name.ends_with(renamed)) continue;
    // A process goes on in later epochs, also with a save that it began in an earlier one.
    const bool by_living = by->epoch >= run.placed_epoch && by->epoch <= run.epoch;
    const bool over =
        IsTerminal(run.state) || by->epoch < run.placed_epoch || (by_living && !run.holds_slots);
    // It is older than the newest sealed checkpoint, so its seal would be refused.
    const bool passed = by_living && by->step < newest;
    const bool ownerless_mark = formats::IsQuarantineMark(name);
    if (over || passed || retired.contains(name) || ownerless_mark) orphans.push_back(name);
  }
  return orphans;
}

RunDirectories::RunDirectories(const Storage& storage, ReadTexts read_texts)
    : storage_(storage),
      read_texts_(std::move(read_texts)),
      mailbox_(kTasksMax),
      thread_([this] { Loop(); }) {}

RunDirectories::~RunDirectories() { Stop(); }

void RunDirectories::Stop() {
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
}

void RunDirectories::SweepAll(const Cluster& cluster) {
  cluster.runs.ForEach([&](const RunId&, const std::shared_ptr<const Run>& run) {
    Task task{.id = run->id, .run = run, .swept = true};
    mailbox_.TryPost(task);  // if the mailbox is full, the task is done after the next start
  });
  SweepDeleted(cluster);
}

// A deletion removes the link first and the run's directory last, so a directory that exists is one
// that was not finished, or has only what was kept (HasOnlyKept).
void RunDirectories::SweepDeleted(const Cluster& cluster) {
  std::map<std::string, std::vector<std::string>> names;  // by parent directory
  cluster.deleted.ForEach([&](const RunId& id, const std::shared_ptr<const DeletedRun>& run) {
    const std::string parent = DirectoryOf(run->run_directory);
    auto listed = names.find(parent);
    if (listed == names.end()) {
      listed =
          names.emplace(parent, storage_.List(parent).value_or(std::vector<std::string>())).first;
    }
    const std::string name = BaseNameOf(run->run_directory);
    if (!std::binary_search(listed->second.begin(), listed->second.end(), name)) return;
    Task task{.id = id, .deleted = run, .swept = true};
    mailbox_.TryPost(task);
  });
}

bool RunDirectories::HasOnlyKept(const DeletedRun& run) const {
  if (run.kept_checkpoints.empty()) return false;
  const std::string checkpoints = JoinPath(run.run_directory, "checkpoints");
  const auto names = storage_.List(run.run_directory);
  if (!names.ok() || *names != std::vector<std::string>{BaseNameOf(checkpoints)}) return false;
  const auto found = storage_.List(checkpoints);
  const std::set<std::string> kept = KeptNames(run);
  return found.ok() &&
         std::ranges::all_of(*found, [&](const std::string& name) { return kept.contains(name); });
}

void RunDirectories::Published(const std::shared_ptr<const Cluster>& cluster,
                               const std::vector<StoredEvent>& events) {
  for (const StoredEvent& stored : events) {
    const EventBody& body = stored.event.body;
    const bool fresh = std::holds_alternative<RunSubmitted>(body) ||
                       std::holds_alternative<LegRequested>(body) ||
                       std::holds_alternative<LegBegun>(body);
    const bool tend = fresh || std::holds_alternative<CheckpointDamaged>(body) ||
                      std::holds_alternative<CheckpointRestored>(body) ||
                      std::holds_alternative<CheckpointRetired>(body) ||
                      std::holds_alternative<CheckpointsPruned>(body) ||
                      std::holds_alternative<RunDeleted>(body) ||
                      std::holds_alternative<RunPlaced>(body) ||
                      std::holds_alternative<RunEnded>(body);
    if (!tend) continue;
    const RunId& id = stored.event.run;
    Task task{.id = id,
              .deleted = cluster->FindDeleted(id),
              .run = cluster->FindRun(id),
              .fresh = fresh ? cluster->FindRun(id) : nullptr};
    mailbox_.TryPost(task);
  }
}

void RunDirectories::Loop() {
  while (!mailbox_.drained()) {
    const auto tasks = Merged(mailbox_.Drain(kTasksMax, std::chrono::seconds(1)));
    for (const auto& [run, task] : tasks) Do(task);
    if (again_.empty() || std::chrono::steady_clock::now() < again_at_) continue;
    for (const auto& [run, task] : std::exchange(again_, {})) Do(task);
  }
}

void RunDirectories::Do(const Task& task) {
  if (task.deleted == nullptr) return Tend(task);
  if (task.swept && HasOnlyKept(*task.deleted)) return;
  const Status deleted = Delete(*task.deleted);
  if (deleted.ok() && task.again) return;
  if (deleted.ok()) {
    LogInfo("the deleted run's files are removed",
            {{"run", task.id}, {"name", task.deleted->name}});
  } else {
    LogWarning("the deleted run's files are not removed; will try again",
               {{"run", task.id}, {"error", gp::Message(deleted)}});
  }
  Task& next = again_[task.id] = task;
  next.again = deleted.ok();
  again_at_ = std::chrono::steady_clock::now() + kAgainDelay;
}

Status RunDirectories::Delete(const DeletedRun& run) const {
  Failpoint("run_directories.before_delete");
  const std::string link = TensorBoardLink(run.run_directory, run.name, run.id);
  if (unlink(link.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
    return ErrnoStatus(errno, "unlink", link);
  }
  const std::set<std::string> kept = KeptNames(run);
  const std::string checkpoints = JoinPath(run.run_directory, "checkpoints");
  // `storage_` lists no link that a rank put in a directory's place; only the link is removed,
  // below.
  const Status listed = storage_.List(run.run_directory).status();
  const Status deleted = listed.ok() ? DeleteExcept(checkpoints, kept) : listed;
  if (!kept.empty() && deleted.code() != StatusCode::kNotFound) RETURN_IF_ERROR(deleted);
  Failpoint("run_directories.checkpoints_deleted");
  if (kept.empty()) {
    RETURN_IF_ERROR(storage_.Delete(run.run_directory));
  } else {
    RETURN_IF_ERROR(DeleteExcept(run.run_directory, {BaseNameOf(checkpoints)}));
  }
  Failpoint("run_directories.after_delete");
  return OkStatus();
}

Status RunDirectories::DeleteExcept(const std::string& directory,
                                    const std::set<std::string>& kept) const {
  const auto names = storage_.List(directory);
  if (names.status().code() == StatusCode::kNotFound) return OkStatus();
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (!kept.contains(name)) RETURN_IF_ERROR(DeleteWhole(JoinPath(directory, name)));
  }
  return OkStatus();
}

// Deletes the manifest first, so that an interrupted deletion leaves no checkpoint. `path` may also
// be a file.
Status RunDirectories::DeleteWhole(const std::string& path) const {
  (void)storage_.Delete(JoinPath(path, formats::kManifestName));
  return storage_.Delete(path);
}

std::map<RunId, RunDirectories::Task> RunDirectories::Merged(std::vector<Task> tasks) {
  std::map<RunId, Task> merged;
  for (Task& task : tasks) {
    Task& whole = merged[task.id];
    whole.id = task.id;
    whole.deleted = std::move(task.deleted);
    whole.run = std::move(task.run);
    if (task.fresh != nullptr) whole.fresh = std::move(task.fresh);
    whole.swept |= task.swept;
  }
  return merged;
}

void RunDirectories::Tend(const Task& task) const {
  const Run& run = *task.run;
  if (task.fresh != nullptr) {
    LogFailure("could not write the run file", run, WriteRunFiles(task.fresh));
  }
  if (task.fresh != nullptr || task.swept) {
    LogFailure("could not link the run for TensorBoard", run, LinkForTensorBoard(run));
  }
  // The ranks of the run may have put a link in the directory's place; `storage_` refuses it.
  const std::string directory = JoinPath(run.submission->run_directory, "checkpoints");
  const auto names = storage_.List(directory);
  if (names.status().code() == StatusCode::kNotFound) return;
  LogFailure("cannot list the run's checkpoints; cleanup skipped", run, names.status());
  if (!names.ok()) return;
  MarkQuarantined(run, *names);
  for (const std::string& name : FindOrphans(run, *names)) {
    const Status deleted = DeleteWhole(JoinPath(directory, name));
    LogFailure("checkpoint not removed", run, deleted);
    if (deleted.ok()) LogInfo("checkpoint removed", {{"run", run.id}, {"directory", name}});
  }
}

Status RunDirectories::WriteRunFiles(const std::shared_ptr<const Run>& known) const {
  std::shared_ptr<const Run> run = known;
  if (read_texts_) {
    ASSIGN_OR_RETURN(run, read_texts_(known));
  }
  return WriteRunFilesOf(*run);
}

void RunDirectories::MarkQuarantined(const Run& run, const std::vector<std::string>& names) const {
  const auto is_listed = [&](const std::string& path) {
    return std::binary_search(names.begin(), names.end(), BaseNameOf(path));
  };
  for (const QuarantinedCheckpoint& held : run.quarantined) {
    const std::string& directory = held.checkpoint.directory;
    const std::string renamed = formats::RenamedDamaged(directory);
    if (held.lost || !(is_listed(directory) || is_listed(renamed))) continue;
    if (!is_listed(formats::QuarantineMark(directory))) Mark(run, held);
    if (!is_listed(directory)) {
      LogFailure("cannot rename the damaged checkpoint back", run,
                 RenameDurably(renamed, directory));
    }
  }
}

void RunDirectories::Mark(const Run& run, const QuarantinedCheckpoint& held) const {
  const std::string& directory = held.checkpoint.directory;
  const Status marked = formats::Quarantine(storage_, directory, held.reason);
  LogFailure("could not mark the damaged checkpoint; will retry at the next start", run, marked);
  if (!marked.ok()) return;
  LogWarning("checkpoint is in quarantine", {{"run", run.id}, {"directory", directory}});
}

}  // namespace gp::coordinator
