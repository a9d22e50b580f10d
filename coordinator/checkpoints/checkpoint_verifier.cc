#include "coordinator/checkpoints/checkpoint_verifier.h"

#include <future>
#include <memory>

#include "base/file.h"
#include "base/log.h"
#include "coordinator/state/initial_model.h"
#include "coordinator/state/start_description.h"
#include "formats/checkpoint_directory.h"

namespace gp::coordinator {
namespace {

constexpr std::chrono::nanoseconds kPostAgain = std::chrono::milliseconds(100);

Status Stopping() { return Unavailable("the coordinator is stopping; try again"); }

std::pair<Verdict, std::string> Judge(const Storage& storage, const SealedCheckpoint& checkpoint,
                                      const std::stop_token& stop) {
  const Status read =
      formats::VerifyDigests(storage, checkpoint.directory, checkpoint.manifest_digest, stop)
          .status();
  if (read.ok()) return {Verdict::kWhole, "every digest matches"};
  // A missing directory counts as lost only if the directories beside it can be seen; otherwise the
  // storage is not mounted.
  const bool missing =
      read.code() == StatusCode::kNotFound && storage.List(DirectoryOf(checkpoint.directory)).ok();
  const bool damaged = missing || read.code() == StatusCode::kDataLoss;
  return {damaged ? Verdict::kDamaged : Verdict::kUnreadable, gp::Message(read)};
}

// Whether a rank that has not begun may have failed because of its initial model.
bool MayComeFromModel(ExitCause cause) {
  return cause == ExitCause::kConfig || cause == ExitCause::kData ||
         cause == ExitCause::kDamagedCheckpoint;
}

}  // namespace

CheckpointVerifier::CheckpointVerifier(const Storage& storage)
    : storage_(storage), mailbox_(kTasksMax) {}

CheckpointVerifier::~CheckpointVerifier() { Stop(); }

void CheckpointVerifier::Start(Reconciler& reconciler) {
  const auto cluster = reconciler.snapshot();
  for (const auto& [sequence, id] : cluster->busy) AskFor(*cluster->FindRun(id));
  thread_ = std::jthread([this, &reconciler] { Loop(reconciler); });
}

void CheckpointVerifier::Stop() {
  mailbox_.Close();
  stop_.request_stop();
  {
    MutexLock lock(mutex_);
    stopped_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  for (Task& task : mailbox_.Drain(kTasksMax, std::chrono::seconds(0))) {
    if (task.done) task.done(Stopping());
  }
}

void CheckpointVerifier::Published(const PublishedBatch& batch) {
  for (const StoredEvent& stored : batch.events) {
    const auto* failed = std::get_if<RankFailed>(&stored.event.body);
    const auto run = failed == nullptr ? nullptr : batch.cluster->FindRun(stored.event.run);
    if (run == nullptr) continue;  // also if it was deleted
    AskFor(*run);
    if (MayComeFromModel(failed->cause)) AskForModel(*batch.cluster, *run);
  }
}

void CheckpointVerifier::AskFor(const Run& run) {
  if (!run.suspicion || !run.suspicion->asks_coordinator) return;
  Post({run.id, run.suspicion->step, nullptr, {}});
}

// A run that has no checkpoint of its own begins from its initial model.
void CheckpointVerifier::AskForModel(const Cluster& cluster, const Run& run) {
  if (run.LatestCheckpoint() != nullptr) return;
  const auto model = FindCheckpointAt(cluster, InitialModelOf(*run.submission));
  if (!model || model->checkpoint.retired) return;
  Post({model->run->id,
        model->checkpoint.step,
        nullptr,
        {},
        model->checkpoint.epoch,
        run.submission->name});
}

void CheckpointVerifier::Post(Task task) {
  const RunId run = task.run;
  if (mailbox_.TryPost(task)) return;
  LogWarning("verification queue is full; the checkpoint is verified after the next start",
             {{"run", run}});
}

void CheckpointVerifier::Restore(const RunId& run, int64_t step, Request request, Done done) {
  if (!Begin(run, step, request.request_id)) {
    return done(FailedPrecondition("the checkpoint of step {} is being verified already", step));
  }
  Task task{run, step,
            [this, run, step, done = std::move(done)](const Status& status) {
              End(run, step);
              done(status);
            },
            std::move(request)};
  if (!mailbox_.TryPost(task)) task.done(Stopping());
}

bool CheckpointVerifier::Begin(const RunId& run, int64_t step, const std::string& request_id) {
  MutexLock lock(mutex_);
  Restoring& restoring = restoring_.try_emplace({run, step}, Restoring{request_id}).first->second;
  if (restoring.request_id != request_id) return false;
  ++restoring.calls;
  return true;
}

void CheckpointVerifier::End(const RunId& run, int64_t step) {
  MutexLock lock(mutex_);
  const auto restoring = restoring_.find({run, step});
  if (--restoring->second.calls == 0) restoring_.erase(restoring);
}

void CheckpointVerifier::Loop(Reconciler& reconciler) {
  while (!stop_.stop_requested()) {
    const auto task = mailbox_.Receive(std::chrono::seconds(1));
    if (!task) continue;
    if (task->done) {
      task->done(BringBack(*task, reconciler));
    } else if (task->epoch != 0) {
      CheckModel(*task, reconciler);
    } else {
      Check(*task, reconciler);
    }
  }
}

void CheckpointVerifier::Check(const Task& task, Reconciler& reconciler) {
  const auto run = reconciler.snapshot()->FindRun(task.run);
  const bool asked = run != nullptr && run->suspicion && run->suspicion->step == task.step;
  const SealedCheckpoint* checkpoint = asked ? run->FindCheckpoint(task.step) : nullptr;
  if (checkpoint == nullptr) return;
  const auto [verdict, text] = Judge(storage_, *checkpoint, stop_.get_token());
  LogInfo("checkpoint read", {{"run", task.run}, {"step", task.step}, {"finding", text}});
  Tell({.run = task.run, .actor = "coordinator", .body = CheckpointRead{task.step, verdict, text}},
       reconciler);
}

void CheckpointVerifier::CheckModel(const Task& task, Reconciler& reconciler) {
  const auto run = reconciler.snapshot()->FindRun(task.run);
  const SealedCheckpoint* checkpoint =
      run == nullptr ? nullptr : FindSealed(*run, {task.step, task.epoch});
  if (checkpoint == nullptr || checkpoint->retired) return;
  const auto [verdict, text] = Judge(storage_, *checkpoint, stop_.get_token());
  LogInfo("checkpoint read, because another run could not begin from it",
          {{"run", task.run}, {"step", task.step}, {"child", task.child}, {"finding", text}});
  if (verdict != Verdict::kDamaged) return;
  std::string reason = fmt::format(
      "run '{}' could not begin from the checkpoint of step {}, and the coordinator found it "
      "damaged, too ({}); it is in quarantine",
      task.child, task.step, text);
  Tell({.run = task.run,
        .actor = "coordinator",
        .body = CheckpointDamaged{task.step, std::move(reason), /*lost=*/false, task.epoch}},
       reconciler);
}

void CheckpointVerifier::Tell(const Event& event, Reconciler& reconciler) {
  MutexLock lock(mutex_);
  while (!stop_.stop_requested() && !reconciler.Post(event)) {
    stopped_.WaitFor(mutex_, kPostAgain);
  }
}

Status CheckpointVerifier::BringBack(const Task& task, Reconciler& reconciler) {
  const Event event{.run = task.run,
                    .actor = task.request.actor,
                    .request_id = task.request.request_id,
                    .body = CheckpointRestored{task.step}};
  const auto cluster = reconciler.snapshot();
  ASSIGN_OR_RETURN(const Admission admission, Admit(*cluster, event));
  if (admission.replayed) return OkStatus();
  RETURN_IF_ERROR(CheckWhole(cluster->FindRun(task.run)->FindQuarantined(task.step)->checkpoint));
  return Append(event, reconciler);
}

Status CheckpointVerifier::CheckWhole(const SealedCheckpoint& checkpoint) const {
  const std::string& directory = checkpoint.directory;
  if (storage_.List(directory).status().code() == StatusCode::kNotFound) {
    return NotFound("{} does not exist; put it back, for example from a backup", directory);
  }
  const Status read =
      formats::VerifyDigests(storage_, directory, checkpoint.manifest_digest, stop_.get_token())
          .status();
  // The directory exists, so a missing file is damage.
  if (read.code() == StatusCode::kNotFound) return DataLoss("{}", gp::Message(read));
  return read;
}

Status CheckpointVerifier::Append(const Event& event, Reconciler& reconciler) {
  auto answer = std::make_shared<std::promise<Status>>();
  reconciler.Request(event, [answer](const StatusOr<Admission>& admission) {
    answer->set_value(admission.status());
  });
  return answer->get_future().get();
}

}  // namespace gp::coordinator
