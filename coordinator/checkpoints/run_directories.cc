#include "coordinator/checkpoints/run_directories.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "formats/checkpoint_directory.h"

namespace gp::coordinator {
namespace {

struct WrittenBy {
  int64_t step = 0;
  Epoch epoch = 0;
};

// "step-00000500-e3-…": written by epoch 3. Nullopt for any other name.
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

// True for a checkpoint that is in quarantine or will go there. Only a person removes it.
bool IsQuarantined(const Run& run, const std::string& name) {
  for (const QuarantinedCheckpoint& held : run.quarantined) {
    const std::string& directory = held.checkpoint.directory;
    if (name == BaseNameOf(directory) || name == BaseNameOf(formats::DamagedName(directory))) {
      return true;
    }
  }
  return name.ends_with(formats::DamagedName(""));
}

// The names of the run's sealed checkpoints that are retired, or that are not. A run that saves
// often has many thousands of them.
std::unordered_set<std::string> SealedNames(const Run& run, bool retired) {
  std::unordered_set<std::string> names;
  for (const SealedCheckpoint& checkpoint : run.checkpoints) {
    if (checkpoint.retired == retired) names.insert(BaseNameOf(checkpoint.directory));
  }
  return names;
}

void Quarantine(const Run& run, const QuarantinedCheckpoint& held) {
  const std::string& directory = held.checkpoint.directory;
  if (held.lost || !FileExists(directory)) return;
  const Status aside = formats::SetAside(directory);
  if (aside.ok()) {
    LogWarning("checkpoint is in quarantine",
               {{"run", run.id}, {"directory", formats::DamagedName(directory)}});
  } else {
    LogWarning("could not move the damaged checkpoint aside; will retry at the next start",
               {{"run", run.id}, {"error", gp::Message(aside)}});
  }
}

void LogFailure(std::string_view event, const Run& run, const Status& status) {
  if (!status.ok()) LogWarning(event, {{"run", run.id}, {"error", gp::Message(status)}});
}

// run.yaml is the run: submitted again, it trains the same. What the user wrote lacks the preset's
// values and those of --set.
Status WriteRunFiles(const Submission& submission) {
  const std::string& directory = submission.run_directory;
  RETURN_IF_ERROR(MakeDirectory(directory));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, "submitted.yaml"), submission.source));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, "resolved.yaml"), submission.resolved));
  return WriteFileAtomically(JoinPath(directory, "run.yaml"), submission.resolved);
}

// TensorBoard names a run after its folder: `tensorboard --logdir STORAGE/tensorboard` shows names
// instead of ids. The link is relative, so that the storage can move.
Status LinkForTensorBoard(const Run& run) {
  const std::string& directory = run.submission->run_directory;
  if (!FileExists(directory)) return OkStatus();
  const std::string folder = JoinPath(DirectoryOf(DirectoryOf(directory)), "tensorboard");
  RETURN_IF_ERROR(MakeDirectories(folder));
  const std::string link = JoinPath(folder, fmt::format("{}-{}", run.submission->name, run.id));
  const std::string target =
      JoinPath(JoinPath("..", BaseNameOf(DirectoryOf(directory))), BaseNameOf(directory));
  if (symlink(target.c_str(), link.c_str()) == 0 || errno == EEXIST) return OkStatus();
  return ErrnoStatus(errno, "symlink", link);
}

}  // namespace

std::vector<std::string> FindOrphans(const Run& run, const std::vector<std::string>& names) {
  const auto kept = SealedNames(run, /*retired=*/false);
  const auto retired = SealedNames(run, /*retired=*/true);
  const int64_t newest = run.checkpoints.empty() ? -1 : run.checkpoints.back().step;
  std::vector<std::string> orphans;
  for (const std::string& name : names) {
    const auto by = ParseName(name);
    if (!by || kept.contains(name) || IsQuarantined(run, name)) continue;
    const bool over = IsTerminal(run.state) || by->epoch < run.epoch ||
                      (by->epoch == run.epoch && !run.holds_slots);
    // Its seal would be refused: it is older than the newest checkpoint.
    const bool passed = by->epoch == run.epoch && by->step < newest;
    if (over || passed || retired.contains(name)) orphans.push_back(name);
  }
  return orphans;
}

RunDirectories::RunDirectories() : mailbox_(kTasksMax), thread_([this] { Loop(); }) {}

RunDirectories::~RunDirectories() { Stop(); }

void RunDirectories::Stop() {
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
}

void RunDirectories::SweepAll(const Cluster& cluster) {
  cluster.runs.ForEach([&](const RunId&, const std::shared_ptr<const Run>& run) {
    // Before anything is queued: a late rename could hit a checkpoint that a person has brought
    // back.
    for (const QuarantinedCheckpoint& held : run->quarantined) Quarantine(*run, held);
    Task task{.run = run, .swept = true};
    mailbox_.TryPost(task);  // a task that does not fit is done after the next start
  });
}

void RunDirectories::Published(const std::shared_ptr<const Cluster>& cluster,
                               const std::vector<StoredEvent>& events) {
  for (const StoredEvent& stored : events) {
    const EventBody& body = stored.event.body;
    const bool fresh = std::holds_alternative<RunSubmitted>(body);
    const auto* damaged = std::get_if<CheckpointDamaged>(&body);
    const bool tend =
        fresh || damaged != nullptr || std::holds_alternative<CheckpointRetired>(body) ||
        std::holds_alternative<RunPlaced>(body) || std::holds_alternative<RunEnded>(body);
    if (!tend) continue;
    Task task{.run = cluster->FindRun(stored.event.run), .fresh = fresh};
    if (damaged != nullptr) task.damaged_steps = {damaged->step};
    mailbox_.TryPost(task);
  }
}

void RunDirectories::Loop() {
  while (!mailbox_.drained()) {
    const auto tasks = Merged(mailbox_.Drain(kTasksMax, std::chrono::seconds(1)));
    for (const auto& [run, task] : tasks) Tend(task);
  }
}

std::map<RunId, RunDirectories::Task> RunDirectories::Merged(std::vector<Task> tasks) {
  std::map<RunId, Task> merged;
  for (Task& task : tasks) {
    Task& whole = merged[task.run->id];
    whole.run = std::move(task.run);
    whole.fresh |= task.fresh;
    whole.swept |= task.swept;
    whole.damaged_steps.insert(whole.damaged_steps.end(), task.damaged_steps.begin(),
                               task.damaged_steps.end());
  }
  return merged;
}

void RunDirectories::Tend(const Task& task) const {
  const Run& run = *task.run;
  if (task.fresh) LogFailure("could not write the run file", run, WriteRunFiles(*run.submission));
  if (task.fresh || task.swept) {
    LogFailure("could not link the run for TensorBoard", run, LinkForTensorBoard(run));
  }
  for (const int64_t step : task.damaged_steps) {
    const QuarantinedCheckpoint* held = run.FindQuarantined(step);
    if (held != nullptr) Quarantine(run, *held);
  }
  // The ranks of the run may have put a link in its place: it is not followed, now or later.
  const std::string path = JoinPath(run.submission->run_directory, "checkpoints");
  const FileDescriptor opened(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.valid()) return;
  const std::string directory = fmt::format("/proc/self/fd/{}", opened.get());
  const auto names = ListDirectory(directory);
  if (!names.ok()) return;
  for (const std::string& name : FindOrphans(run, *names)) {
    const Status removed = RemoveTree(JoinPath(directory, name));
    if (removed.ok()) {
      LogInfo("checkpoint removed", {{"run", run.id}, {"directory", name}});
    } else {
      LogWarning("checkpoint not removed", {{"run", run.id}, {"error", gp::Message(removed)}});
    }
  }
}

}  // namespace gp::coordinator
