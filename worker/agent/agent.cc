#include "worker/agent/agent.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <set>
#include <utility>

#include "base/failpoint.h"
#include "base/log.h"
#include "base/random_id.h"
#include "rpc/message_fields.h"
#include "worker/agent/convert.h"
#include "worker/agent/engine_limits.h"
#include "worker/agent/memory_watch.h"

namespace gp::agent {
namespace {

// How often deadlines are checked when nothing else happens.
constexpr std::chrono::milliseconds kTick{100};
// A trainer that does not accept a message within this time counts as hung, so that the other
// trainers of this node do not wait for it.
constexpr std::chrono::seconds kSendTimeout{1};
// The most messages read from one trainer before the others get their turn. The second limit is for
// a trainer that has ended: more than its socket can hold, so all its messages are read.
constexpr int kMessagesMax = 256;
constexpr int kFinalMessagesMax = 1 << 16;
constexpr size_t kIncarnationLength = 10;
constexpr const char* kTrainerHint =
    "; put gp-trainer beside gp-worker or name it with gp-worker --trainer";
constexpr const char* kGpuTrainerHint =
    "; put gp-trainer-cuda beside gp-worker or name it with gp-worker --gpu-trainer";

std::optional<int64_t> Milliseconds(std::optional<std::chrono::nanoseconds> duration) {
  if (!duration) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(*duration).count();
}

}  // namespace

// Carries out one action of Reconcile and records it.
struct Agent::Executor {
  Agent& agent;

  Rank& At(const RankKey& key) const { return *agent.ranks_.Find(key); }

  void operator()(const Spawn& action) const { agent.StartTrainer(action.assignment); }
  void operator()(const Decline& action) const {
    Rank& rank = agent.ranks_.Add(Rank{.key = KeyOf(action.assignment),
                                       .slot_id = action.assignment.slot_id(),
                                       .incarnation = action.assignment.incarnation()});
    agent.RecordExit(rank, action.exit);
  }
  void operator()(const Continue& action) const { agent.ContinueRank(action.from, action.to); }
  void operator()(const SendConfigure& action) const {
    At(action.key).configured = true;
    agent.Send(action.key,
               ToConfigure(action.membership, action.choices, action.key.epoch, action.key.rank));
  }
  void operator()(const SendGo& action) const {
    At(action.key).told_go = true;
    agent.Send(action.key, link::Go{action.key.epoch});
  }
  void operator()(const SendStop& action) const {
    Rank& rank = At(action.key);
    (action.save_within ? rank.told_stop_at : rank.told_stop_now_at) = agent.clock_.Now();
    agent.Send(action.key, link::Stop{action.reason, Milliseconds(action.save_within)});
  }
  void operator()(const SendSealResult& action) const {
    auto& written = At(action.key).written;
    std::erase_if(written, [&](const auto& entry) { return entry.step() == action.step; });
    Failpoint("agent.before_seal_result");
    agent.Send(action.key, link::SealResult{action.step, action.sealed, action.reason});
  }
  void operator()(const Terminate& action) const {
    At(action.key).told_terminate = true;
    agent.running_.at(action.key).process->Signal(SIGTERM);
  }
  void operator()(const Kill& action) const {
    Rank& rank = At(action.key);
    rank.killed = true;
    rank.kill_reason = action.reason;
    rank.killed_as_hung = action.hung;
    LogInfo("killing trainer", {{"trainer", Describe(action.key)}, {"reason", action.reason}});
    agent.running_.at(action.key).process->Signal(SIGKILL);
  }
  void operator()(const Forget& action) const {
    agent.exit_reports_.erase(action.key);
    agent.ranks_.Remove(action.key);
    agent.changed_ = true;
  }
};

Agent::Agent(AgentOptions options, SlotTable slots, const Clock& clock, Inbox& inbox,
             CoordinatorPort& coordinator, AgentMetrics& metrics)
    : options_(std::move(options)),
      slots_(std::move(slots)),
      clock_(clock),
      inbox_(inbox),
      coordinator_(coordinator),
      metrics_(metrics) {
  if (!options_.files.storage_root.empty()) storage_space_.emplace(options_.files.storage_root);
}

void Agent::Run() {
  while (!HasLeft()) {
    Publish();
    WaitForEvents();
    running_time_.Advance(clock_.Now());
    coordinator_.NoteTurn();
    DrainInbox();
    ServeTrainers();
    WatchProgress();
    Reconcile();
  }
  Publish();
}

// True when the agent may exit: no trainer runs, and the coordinator has recorded the end of every
// rank (a rank stays in the table until then) or `farewell` has passed.
bool Agent::HasLeft() const {
  if (mode_ != AgentMode::kLeaving || !running_.empty()) return false;
  return ranks_.all().empty() || clock_.Now() - last_exit_ >= options_.farewell;
}

void Agent::WaitForEvents() {
  std::vector<pollfd> entries = {{inbox_.descriptor(), POLLIN, 0}};
  for (const auto& [key, running] : running_) {
    entries.push_back({running.process->exit_descriptor(), POLLIN, 0});
    entries.push_back({running.process->output_descriptor(), POLLIN, 0});
    const bool link_open = !ranks_.Find(key)->link_lost_at.has_value();
    entries.push_back({link_open ? running.process->channel().descriptor() : -1, POLLIN, 0});
  }
  // A poll that failed or was interrupted counts as a tick: the loop checks everything anyway.
  poll(entries.data(), entries.size(), static_cast<int>(kTick.count()));
}

void Agent::DrainInbox() {
  for (const InboxItem& item : inbox_.Drain()) HandleItem(item);
}

void Agent::HandleItem(const InboxItem& item) {
  if (const auto* stop = std::get_if<StopRequested>(&item)) {
    HandleStop(stop->hurried);
  } else if (const auto* desired = std::get_if<v1::DesiredState>(&item)) {
    if (desired_.Accept(*desired)) changed_ = true;
  } else if (std::holds_alternative<Connected>(item) && !registered_) {
    registered_ = true;
    options_.on_registered();
  } else if (const auto* slots = std::get_if<SlotsChanged>(&item)) {
    HandleSlotHealth(slots->healths);
  }
}

void Agent::HandleSlotHealth(const SlotHealths& healths) {
  if (!slots_.SetHealth(healths)) return;
  changed_ = true;
  for (const SlotInfo& slot : slots_.all()) {
    if (slot.health.problem.empty()) continue;
    LogWarning("slot is not used", {{"slot", slot.id}, {"reason", slot.health.problem}});
  }
}

// A second SIGTERM does not interrupt a save in progress, because Slurm signals a job again when
// its time is up. A SIGINT while stopping (Ctrl-C pressed twice) is `hurried` and kills the
// trainers.
void Agent::HandleStop(bool hurried) {
  if (mode_ != AgentMode::kLeaving) return Leave();
  if (hurried) return KillTrainers();
  LogInfo("stop requested again; trainers are still saving", {{"trainers", running_.size()}});
}

void Agent::Leave() {
  LogInfo("worker stops; trainers save their last step", {{"trainers", running_.size()}});
  mode_ = AgentMode::kLeaving;
  last_exit_ = clock_.Now();
  for (auto& [key, rank] : ranks_.all()) rank.leaves_since = clock_.Now();
  changed_ = true;
}

void Agent::KillTrainers() {
  LogInfo("immediate stop requested; killing trainers", {{"trainers", running_.size()}});
  for (auto& [key, running] : running_) {
    Rank& rank = *ranks_.Find(key);
    rank.told_stop_now_at = clock_.Now();
    rank.killed = true;
    running.process->Signal(SIGKILL);
  }
}

void Agent::ServeTrainers() {
  for (auto& [key, running] : running_) Serve(key, running);
  std::erase_if(running_, [&](const auto& entry) { return ranks_.Find(entry.first)->exited(); });
}

void Agent::Serve(const RankKey& key, Running& running) {
  Rank& rank = *ranks_.Find(key);
  // Checks for the end first, so that no message or line of an ended trainer is missed.
  const std::optional<int> wait_status = running.process->Reap();
  ForwardLines(key, *running.process);
  HandleMessages(rank, *running.process, wait_status ? kFinalMessagesMax : kMessagesMax);
  if (wait_status) HandleExit(rank, running, *wait_status);
}

void Agent::ForwardLines(const RankKey& key, TrainerProcess& process) {
  for (std::string& text : process.ReadLines()) {
    v1::TelemetryItem item;
    item.set_run_id(key.run_id);
    v1::LogLine& line = *item.mutable_line();
    const int64_t now_us = clock_.WallNow().time_since_epoch().count();
    line.mutable_at()->set_seconds(now_us / 1'000'000);
    line.mutable_at()->set_nanos(static_cast<int32_t>(now_us % 1'000'000 * 1000));
    line.set_rank(key.rank);
    line.set_epoch(key.epoch);
    line.set_text(std::move(text));
    coordinator_.Tell(std::move(item));
  }
}

void Agent::HandleMessages(Rank& rank, TrainerProcess& process, int count_max) {
  int written = 0;
  for (int i = 0; i < count_max && !rank.link_lost_at; ++i) {
    const auto message = process.channel().Receive(std::chrono::nanoseconds(0));
    if (message.status().code() == StatusCode::kDataLoss) {
      KillForProtocolError(rank, process, Message(message.status()));
    } else if (!message.ok()) {
      rank.link_lost_at = clock_.Now();
    } else if (!message->has_value()) {
      return;
    } else if (const std::string what = Misbehaviour(**message); !what.empty()) {
      KillForProtocolError(rank, process, what);
    } else if (std::holds_alternative<link::CheckpointReport>(**message) &&
               ++written > kWrittenPerTurnMax) {
      KillForProtocolError(
          rank, process,
          fmt::format("the trainer sent more than {} checkpoints at once", kWrittenPerTurnMax));
    } else {
      HandleMessage(rank, **message);
    }
  }
}

// The agent reads no more messages from this trainer.
void Agent::KillForProtocolError(Rank& rank, TrainerProcess& process, const std::string& what) {
  rank.link_lost_at = clock_.Now();
  rank.killed = true;
  rank.kill_reason = what;
  LogWarning("killing trainer", {{"trainer", Describe(rank.key)}, {"reason", what}});
  process.Signal(SIGKILL);
}

void Agent::HandleMessage(Rank& rank, const link::Message& message) {
  if (Observe(rank, message, clock_.Now())) changed_ = true;
  if (const auto* progress = std::get_if<link::Beat>(&message)) {
    rank.progress.Observe(*progress, running_time_.passed());
  }
  const auto* written = std::get_if<link::CheckpointReport>(&message);
  if (written != nullptr && BelongsTo(rank, written->epoch)) {
    metrics_.CheckpointWritten(
        rank.key, {.blocking_seconds = written->held_up_seconds,
                   .background_seconds = rank.save_times.Written(written->step, clock_.Now()),
                   .size_bytes = written->size_bytes});
  }
  const auto* report = std::get_if<link::StepReport>(&message);
  if (report == nullptr || !BelongsTo(rank, report->point.epoch)) return;
  const bool of_this_group = report->point.epoch == rank.key.epoch;
  if (of_this_group && rank.phase < v1::RANK_PHASE_READY) return;  // the group took no step yet
  stepped_ = true;
  metrics_.StepCommitted(rank.key, *report);
  if (rank.key.rank != 0) return;
  rank.save_times.StepCommitted(report->point.step, clock_.Now());
  v1::TelemetryItem item;
  item.set_run_id(rank.key.run_id);
  rpc::WriteFields(report->point, *item.mutable_point());
  coordinator_.Tell(std::move(item));
}

// The trainer's control group counts its kills. Without a group, any out-of-memory kill on this
// machine since the trainer's start counts.
bool Agent::WasKilledForMemory(const Running& running) {
  if (running.group) return running.group->OutOfMemoryKills() > 0;
  return OutOfMemoryKills() > running.memory_kills_before;
}

void Agent::HandleExit(Rank& rank, Running& running, int wait_status) {
  RecordExit(rank,
             Explain({.wait_status = wait_status,
                      .finished = rank.phase == v1::RANK_PHASE_FINISHED,
                      .told_stop = rank.told_stop(),
                      .kill_reason = rank.kill_reason,
                      .hung = rank.killed_as_hung,
                      .memory_killed = WasKilledForMemory(running),
                      .memory_limit_bytes = running.group ? running.group->ReachedLimitBytes() : 0,
                      .failed = rank.failed,
                      .stopped = rank.stopped,
                      .last_line = running.process->last_line()}));
}

void Agent::RecordExit(Rank& rank, ExitReport exit) {
  Failpoint("agent.before_exit_report");
  rank.phase = v1::RANK_PHASE_EXITED;
  rank.exit = std::move(exit);
  last_exit_ = clock_.Now();
  changed_ = true;
  metrics_.TrainerExited(rank.exit.cause);
  metrics_.RankEnded(rank.key, last_exit_);
  LogInfo("trainer exited", {{"trainer", Describe(rank.key)},
                             {"slot", rank.slot_id},
                             {"cause", CauseLabel(rank.exit.cause)},
                             {"message", rank.exit.message}});
}

void Agent::WatchProgress() {
  const auto running = running_time_.passed();
  for (const auto& [key, process] : running_) {
    Rank& rank = *ranks_.Find(key);
    if (rank.link_lost_at) continue;
    rank.hang = rank.progress.Hang(running).value_or("");
    rank.reported_progress = rank.progress.Report(running);
    if (rank.reported_progress) stepped_ = true;
    const bool too_long = rank.progress.AwaitsPeerTooLong(running);
    if (std::exchange(rank.awaits_peer_too_long, too_long) != too_long) changed_ = true;
  }
}

void Agent::Reconcile() {
  const auto actions =
      agent::Reconcile(desired_.current(), ranks_, slots_, options_.reconcile, clock_.Now(), mode_);
  for (const Action& action : actions) std::visit(Executor{*this}, action);
}

// A trainer on a GPU sees only that GPU, as number 0.
StatusOr<TrainerCommand> Agent::CommandFor(const v1::Assignment& assignment,
                                           const SlotInfo& slot) const {
  ASSIGN_OR_RETURN(const auto files, FileArguments(assignment, options_.files));
  TrainerCommand command{.program = options_.trainer_program,
                         .arguments = {"--link"},
                         .environment = options_.trainer_environment,
                         .cores = {},
                         .account = options_.account};
  command.arguments.insert(command.arguments.end(), files.begin(), files.end());
  if (options_.pin_trainers) command.cores = slot.cores;
  if (!slot.is_gpu()) return command;
  command.program = options_.gpu_trainer_program;
  command.arguments.emplace_back("--gpu");
  command.environment.insert(command.environment.end(), options_.gpu_environment.begin(),
                             options_.gpu_environment.end());
  command.environment.push_back("CUDA_VISIBLE_DEVICES=" + slot.device);
  return command;
}

void Agent::StartTrainer(const v1::Assignment& assignment) {
  const SlotInfo& slot = *slots_.Find(assignment.slot_id());
  Rank& rank = ranks_.Add(Rank{.key = KeyOf(assignment),
                               .slot_id = slot.id,
                               .incarnation = RandomId(kIncarnationLength),
                               .phase_since = clock_.Now()});
  changed_ = true;
  const auto command = CommandFor(assignment, slot);
  if (!command.ok()) {
    return RecordExit(rank, {v1::EXIT_CAUSE_CONFIG, 0, Message(command.status())});
  }
  LaunchTrainer(assignment, *command, slot, rank);
}

void Agent::LaunchTrainer(const v1::Assignment& assignment, const TrainerCommand& command,
                          const SlotInfo& slot, Rank& rank) {
  const uint64_t memory_kills = OutOfMemoryKills();
  Failpoint("agent.before_spawn");
  auto process = TrainerProcess::Spawn(command, "trainer " + Describe(rank.key));
  if (!process.ok()) {
    RecordExit(rank,
               {v1::EXIT_CAUSE_SPAWN_FAILED, 0,
                Message(process.status()) + (slot.is_gpu() ? kGpuTrainerHint : kTrainerHint)});
    return;
  }
  auto group = GroupFor(rank, (*process)->pid());
  if (!group.ok()) {
    return RecordExit(rank, {v1::EXIT_CAUSE_SPAWN_FAILED, 0, Message(group.status())});
  }
  rank.pid = (*process)->pid();
  const uint64_t memory_limit = *group == nullptr ? 0 : (*group)->limit_bytes();
  running_[rank.key] = {.group = *std::move(group),
                        .process = std::move(process).value(),
                        .memory_kills_before = memory_kills};
  Failpoint("agent.after_spawn");
  metrics_.TrainerStarted(rank.key, rank.pid, memory_limit);
  LogInfo("trainer started",
          {{"trainer", Describe(rank.key)}, {"slot", slot.id}, {"pid", rank.pid}});
  Send(rank.key, link::Hello{.version = options_.version, .incarnation = rank.incarnation});
  Send(rank.key, ToStart(assignment, options_.data_address, static_cast<int>(slot.cores.size())));
}

void Agent::ContinueRank(const RankKey& from, const RankKey& to) {
  const MonotonicTime now = clock_.Now();
  Rank& rank = ranks_.Continue(from, to, now);
  rank.exit_reported = false;  // under this key
  exit_reports_.erase(from);
  metrics_.RankEnded(from, now);
  changed_ = true;
  auto entry = running_.extract(from);
  if (entry.empty()) return;
  const Running& running = entry.mapped();
  metrics_.RankContinues(to, rank.pid, running.group ? running.group->limit_bytes() : 0);
  entry.key() = to;
  running_.insert(std::move(entry));
  LogInfo("trainer goes on in another group",
          {{"trainer", Describe(from)}, {"as", Describe(to)}, {"pid", rank.pid}});
}

StatusOr<std::unique_ptr<TrainerGroup>> Agent::GroupFor(const Rank& rank, pid_t pid) {
  if (options_.groups == nullptr) return nullptr;
  auto group = options_.groups->Make();
  const Status status = group.ok() ? (*group)->Add(pid) : group.status();
  if (status.ok()) return group;
  if (options_.groups->limits().memory_bytes > 0) {
    return WithContext(status, "cannot enforce trainer.memory_max");
  }
  LogWarning("cannot create a control group for a trainer",
             {{"trainer", Describe(rank.key)}, {"reason", Message(status)}});
  return nullptr;
}

// Acts only on a full link; after any other error, the trainer's exit or its deadline follows.
void Agent::Send(const RankKey& key, const link::Message& message) {
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  const Status status = found->second.process->channel().Send(message, kSendTimeout);
  if (!status.ok()) {
    LogWarning("trainer did not accept a message",
               {{"trainer", Describe(key)}, {"error", Message(status)}});
    // Its link is full. Every further message would hold up the other trainers of this node.
    Rank& rank = *ranks_.Find(key);
    if (status.code() == StatusCode::kDeadlineExceeded && !rank.killed) {
      KillForProtocolError(rank, *found->second.process,
                           "it stopped reading messages from the agent");
    }
  }
}

void Agent::Publish() {
  metrics_.RemoveEnded(clock_.Now());
  for (const auto& [key, number] : exit_reports_) {
    if (coordinator_.ReportedThrough() >= number) ranks_.Find(key)->exit_reported = true;
  }
  if (!changed_ && !stepped_ && !load_.IsOld(clock_.Now())) return;
  const uint64_t number = coordinator_.Report(MakeReport(), changed_);
  for (const auto& [key, rank] : ranks_.all()) {
    if (rank.exited()) exit_reports_.try_emplace(key, number);
  }
  std::set<std::string> busy;
  for (const auto& [key, running] : running_) busy.insert(ranks_.Find(key)->slot_id);
  metrics_.SetSlots(slots_.Count(busy));
  changed_ = false;
  stepped_ = false;
}

v1::AgentReport Agent::MakeReport() {
  v1::AgentReport report;
  for (const auto& [key, rank] : ranks_.all()) *report.add_ranks() = StatusOf(rank);
  for (const SlotInfo& slot : slots_.all()) {
    if (slot.health.problem.empty()) continue;
    (*report.mutable_slot_problems())[slot.id] = slot.health.problem;
  }
  report.set_leaving(mode_ == AgentMode::kLeaving);
  if (mode_ == AgentMode::kLeaving) {
    for (const SlotInfo& slot : slots_.all()) {
      (*report.mutable_slot_problems())[slot.id] = "the agent of this node is stopping";
    }
  }
  if (desired_.current() != nullptr) report.set_revision(desired_.current()->revision());
  MeasureUse(report);
  return report;
}

void Agent::MeasureUse(v1::AgentReport& report) {
  const MonotonicTime now = clock_.Now();
  const bool again = load_.IsOld(now);
  *report.mutable_load() = load_.Read(now);
  if (const auto space = storage_space_ ? storage_space_->Newest() : std::nullopt) {
    report.mutable_load()->set_storage_bytes(space->bytes);
    report.mutable_load()->set_free_storage_bytes(space->free_bytes);
  }
  if (again) slot_use_.clear();
  std::set<int> pids;
  for (const auto& [key, running] : running_) {
    pids.insert(running.process->pid());
    const std::string& slot = ranks_.Find(key)->slot_id;
    if (again) {
      const auto use = process_use_.Measure(running.process->pid(), now);
      if (use) slot_use_[slot] = *use;
    }
    const auto known = slot_use_.find(slot);
    if (known != slot_use_.end()) (*report.mutable_slot_use())[slot] = known->second;
  }
  process_use_.KeepOnly(pids);
}

}  // namespace gp::agent
