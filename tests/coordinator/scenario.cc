#include "coordinator/scenario.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <sstream>

#include "base/duration.h"
#include "coordinator/control/batch.h"
#include "coordinator/model_agent.h"
#include "coordinator/scheduler/trial_result.h"
#include "coordinator/state/cordon.h"
#include "coordinator/state/invariants.h"
#include "fakes/fake_clock.h"

namespace gp::coordinator {
namespace {

const std::map<std::string, ExitCause> kCauses = {{"error", ExitCause::kError},
                                                  {"signal", ExitCause::kSignal},
                                                  {"collective", ExitCause::kCollective},
                                                  {"config", ExitCause::kConfig},
                                                  {"completed", ExitCause::kCompleted},
                                                  {"stopped", ExitCause::kStopped},
                                                  {"unfit", ExitCause::kUnfit},
                                                  {"storage", ExitCause::kStorage},
                                                  {"damaged", ExitCause::kDamagedCheckpoint},
                                                  {"data", ExitCause::kData},
                                                  {"stalled", ExitCause::kStalled}};

// A parsed command such as "submit a workers=2 final": its verb, its object, and its options by
// name.
struct Command {
  std::string verb;
  std::string object;
  std::map<std::string, std::string> options;

  explicit Command(const std::string& line) {
    std::istringstream words(line);
    words >> verb >> object;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      options[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
    }
  }
  int Number(const std::string& name, int otherwise) const {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : std::stoi(found->second);
  }
  std::string Text(const std::string& name, const std::string& otherwise) const {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : found->second;
  }
};

class World {
 public:
  std::string Do(const Command& command) {
    told_.clear();
    Perform(command);
    RunUntilStable();
    return told_;
  }

 private:
  void Perform(const Command& command) {
    if (command.verb == "node") {
      agents_.emplace(command.object, ModelAgent(command.object, command.Number("slots", 1),
                                                 command.Number("gpus", 0)));
      if (command.options.contains("storage"))
        Agent(command).storage_problem = "its storage differs";
      Connect(Agent(command));
      if (command.options.contains("driver")) Agent(command).gpu_problem = "its driver is broken";
    } else if (command.verb == "lose") {
      Agent(command).LoseGpu(command.Number("gpu", 0));
      Turn({{.body = Agent(command).Report()}});
    } else if (command.verb == "mend") {
      Agent(command).Mend();
      Turn({{.body = Agent(command).Report()}});
    } else if (command.verb == "leave") {
      Agent(command).leaving = true;
      Turn({{.body = Agent(command).Report()}});
    } else if (command.verb == "silence") {
      Agent(command).silent = true;
    } else if (command.verb == "hello") {
      Agent(command).silent = false;
      Connect(Agent(command));
    } else if (command.verb == "crash") {
      Agent(command).Crash();
      Connect(Agent(command));
    } else if (command.verb == "cordon" || command.verb == "drain") {
      Turn({{.actor = "operator",
             .body = NodeCordoned{NodeId(command.object), command.object, command.verb == "drain",
                                  command.Text("reason", "")}}});
    } else if (command.verb == "uncordon") {
      Turn({{.actor = "operator", .body = NodeUncordoned{NodeId(command.object)}}});
    } else if (command.verb == "busy") {
      told_ +=
          fmt::format("{} busy\n", BusySlots(cluster_, *cluster_.FindNode(NodeId(command.object))));
    } else if (command.verb == "submit") {
      Submit(command);
    } else if (command.verb == "cancel") {
      Turn({{.run = RunId(command.object),
             .actor = "user",
             .body = CancelRequested{command.options.contains("now")}}});
    } else if (command.verb == "pause") {
      Turn({{.run = RunId(command.object), .actor = "user", .body = PauseRequested{}}});
    } else if (command.verb == "resume") {
      Turn({{.run = RunId(command.object), .actor = "user", .body = RunResumed{}}});
    } else if (command.verb == "resize") {
      Turn({{.run = RunId(command.object),
             .actor = "user",
             .body = RunResized{command.Number("workers", 1)}}});
    } else if (command.verb == "leg") {
      BeginLeg(command);
    } else if (command.verb == "legs") {
      TellLegs(*cluster_.FindRun(RunId(command.object)));
    } else if (command.verb == "found") {
      Find(command);
    } else if (command.verb == "restore") {
      Turn({{.run = RunId(command.object),
             .actor = "user",
             .body = CheckpointRestored{command.Number("step", 0)}}});
    } else if (command.verb == "pin" || command.verb == "unpin") {
      Turn({{.run = RunId(command.object),
             .actor = "user",
             .body = CheckpointPinned{command.Number("step", 0),
                                      static_cast<Epoch>(command.Number("epoch", 1)),
                                      command.verb == "pin"}}});
    } else if (command.verb == "prune") {
      Turn({{.run = RunId(command.object),
             .actor = "user",
             .body = CheckpointsPruned{.keep_last = command.Number("keep_last", 1)}}});
    } else if (command.verb == "delete") {
      Turn({{.run = RunId(command.object),
             .actor = "user",
             .request_id = command.Text("request", "delete-" + command.object),
             .body = RunDeleted{.keep_checkpoints = command.options.contains("keep")}}});
    } else if (command.verb == "advance") {
      Advance(*ParseDuration(command.object));
    } else if (command.verb == "wall") {
      clock_.StepWall(
          -std::chrono::duration_cast<std::chrono::microseconds>(*ParseDuration(command.object)));
    } else if (command.verb == "restart") {
      Restart();
    } else if (command.verb == "show") {
      if (const auto deleted = cluster_.FindDeleted(RunId(command.object))) {
        told_ += fmt::format("{} was deleted by {}; {} checkpoints kept\n", deleted->id,
                             deleted->deleted_by, deleted->kept_checkpoints.size());
        return;
      }
      const auto run = cluster_.FindRun(RunId(command.object));
      told_ += fmt::format("{} is {}: {}\n", run->id, Name(run->state), run->reason);
    } else if (command.verb == "sweep") {
      SubmitSweep(command);
    } else if (command.verb == "cancel_sweep") {
      Turn({{.actor = "user", .body = SweepCancelled{SweepId("default/" + command.object)}}});
    } else if (command.verb == "trials") {
      TellTrials(*cluster_.FindSweep(SweepId("default/" + command.object)));
    } else if (command.verb == "stops") {
      TellStops(RunId(command.object));
    } else if (command.verb == "ids") {
      TellIds(RunId(command.object));
    } else {
      MoveRanks(command);
    }
  }

  // Trial N is the run NAME-N.
  void SubmitSweep(const Command& command) {
    SweepSpec spec{.name = command.object,
                   .run_namespace = "default",
                   .body_digest = command.Text("body", "body"),
                   .max_parallel = command.Number("parallel", 1)};
    EarlyStop& early_stop = spec.early_stop;
    early_stop.eta = command.Number("halve", 0);
    early_stop.min_steps = command.Number("median", 0);
    if (early_stop.min_steps > 0) early_stop.kind = EarlyStopKind::kMedian;
    if (early_stop.eta > 0)
      early_stop = {EarlyStopKind::kHalving, 10, early_stop.eta, {10, 20, 40}};
    for (int number = 1; number <= command.Number("trials", 1); ++number) {
      const std::string name = fmt::format("{}-{}", command.object, number);
      SweepTrial trial{.run = RunId(name), .keys = {{"lr", fmt::to_string(number)}}};
      trial.submission = SubmissionOf(Command("submit " + name));
      trial.submission.retries_max = command.Number("retries", 0);
      trial.submission.target_steps = early_stop.rungs.empty() ? 40 : early_stop.rungs.front();
      trial.submission.resolved = "name: x\nbudget:\n  steps: 10\n  tokens: 0\n";
      trial.rung_tokens = {100, 200, 400};
      spec.trials.push_back(std::move(trial));
    }
    Turn({{.actor = "user",
           .request_id = command.Text("request", "sweep-" + command.object),
           .body = SweepSubmitted{std::make_shared<const SweepSpec>(std::move(spec))}}});
  }

  void TellTrials(const Sweep& sweep) {
    static const std::map<TrialState, std::string> kStates = {
        {TrialState::kWaiting, "waiting"}, {TrialState::kLive, "live"},
        {TrialState::kDone, "done"},       {TrialState::kStopped, "stopped"},
        {TrialState::kFailed, "failed"},   {TrialState::kCancelled, "cancelled"},
        {TrialState::kDeleted, "deleted"}};
    for (const SweepTrial& trial : sweep.spec->trials) {
      const TrialResult result = ResultOf(cluster_, trial);
      told_ += fmt::format("{} {}", trial.run, kStates.at(result.state));
      if (result.run != nullptr) {
        told_ += fmt::format(" budget={} leg={}", result.run->submission->target_steps,
                             result.run->leg.number);
      }
      if (result.best) told_ += fmt::format(" loss={} at {}", result.best->loss, result.best->step);
      told_ += result.diverged ? " diverged\n" : "\n";
    }
    told_ += fmt::format("sweep: {}\n", sweep.reason);
  }

  // Prints the ranks that are told to stop, and how.
  void TellStops(const RunId& run) {
    for (auto& [name, agent] : agents_) {
      for (const RankReport& rank : agent.ranks()) {
        const Assignment* assignment = rank.run == run ? agent.AssignmentFor(rank) : nullptr;
        if (assignment == nullptr || !assignment->stop) continue;
        told_ += fmt::format("{}:{} rank {} {}: {}\n", name, rank.slot, rank.rank,
                             assignment->stop_now ? "at once" : "saves", assignment->stop_reason);
      }
    }
  }

  // Prints the NCCL id in each rank's current assignment.
  void TellIds(const RunId& run) {
    for (auto& [name, agent] : agents_) {
      for (const RankReport& rank : agent.ranks()) {
        const Assignment* assignment = rank.run == run ? agent.AssignmentFor(rank) : nullptr;
        if (assignment == nullptr) continue;
        told_ +=
            fmt::format("{}:{} rank {} '{}'\n", name, rank.slot, rank.rank, assignment->nccl_id);
      }
    }
  }

  void BeginLeg(const Command& command) {
    const RunId id(command.object);
    LegRequested leg{.submission = *cluster_.FindRun(id)->submission,
                     .why = command.Text("why", "resumed")};
    if (command.options.contains("from")) leg.first_step = command.Number("from", 0);
    Turn({{.run = id,
           .actor = "user",
           .request_id = command.Text("request", "leg"),
           .body = std::move(leg)}});
  }

  void TellLegs(const Run& run) {
    for (const EndedLeg& ended : run.ended_legs) TellLeg(ended.leg);
    TellLeg(run.leg);
    for (const SealedCheckpoint& one : run.checkpoints) {
      told_ += fmt::format("step {} of leg {}{}{}\n", one.step, one.leg,
                           one.retired ? ", retired" : "", one.pinned ? ", pinned" : "");
    }
    for (const SealedCheckpoint& one : run.superseded) {
      told_ += fmt::format("step {} of leg {}, superseded{}\n", one.step, one.leg,
                           one.retired ? ", retired" : "");
    }
  }

  void TellLeg(const Leg& leg) {
    told_ +=
        fmt::format("leg {} from step {}, epoch {}: {}; ended: {}\n", leg.number, leg.first_step,
                    leg.first_epoch, leg.why_begun, leg.why_ended.empty() ? "-" : leg.why_ended);
  }

  void Find(const Command& command) {
    const RunId id(command.object);
    const auto run = cluster_.FindRun(id);
    ASSERT_TRUE(run->suspicion && run->suspicion->asks_coordinator) << "nobody asked";
    CheckpointRead read{.step = run->suspicion->step, .text = "as the test wants it"};
    if (command.options.contains("whole")) read.verdict = Verdict::kWhole;
    if (command.options.contains("damaged")) read.verdict = Verdict::kDamaged;
    Turn({{.run = id, .body = read}});
  }

  ModelAgent& Agent(const Command& command) { return agents_.at(command.object); }

  void Connect(ModelAgent& agent) { Turn({{.body = agent.Hello(++sessions_)}}); }

  void Submit(const Command& command) {
    Submission submission = SubmissionOf(command);
    BeginFrom(command.Text("from", ""), command.options.contains("keeps"), submission);
    Turn({{.run = RunId(command.object),
           .actor = "user",
           .request_id = submission.request_id,
           .body = RunSubmitted{submission}}});
  }

  static Submission SubmissionOf(const Command& command) {
    Submission submission;
    submission.name = command.object;
    submission.request_id = "request-" + command.object;
    submission.workers = command.Number("workers", 1);
    submission.device = DeviceNamed(command.Text("device", "cpu")).value();
    submission.survivors_min = command.Number("survivors", 0);
    submission.workers_max = command.Number("most", 0);
    submission.priority = command.Number("priority", 0);
    submission.retries_max = command.Number("retries", 3);
    submission.retry_backoff = std::chrono::milliseconds(500);
    submission.retry_backoff_max = std::chrono::seconds(2);
    submission.keep_last = command.Number("keep_last", 2);
    submission.keep_every = command.Number("keep_every", 0);
    submission.data_seen = command.options.contains("seen");
    submission.run_directory = "/storage/" + command.object;
    return submission;
  }

  // `checkpoint`: PARENT@STEP, of any leg and state; empty: from scratch.
  void BeginFrom(const std::string& checkpoint, bool keeps, Submission& submission) const {
    if (checkpoint.empty()) return;
    const size_t at = checkpoint.find('@');
    const RunId parent(checkpoint.substr(0, at));
    const int64_t step = std::stoll(checkpoint.substr(at + 1));
    const auto run = cluster_.FindRunOrKept(parent);
    submission.parent_run = parent.value();
    submission.parent_leg = 1;
    submission.parent_step = step;
    if (run == nullptr) return;  // deleted
    const QuarantinedCheckpoint* held = run->FindQuarantined(step);
    const SealedCheckpoint* sealed = run->FindCheckpoint(step);
    if (sealed == nullptr) sealed = held == nullptr ? run->FindSuperseded(step) : &held->checkpoint;
    ASSERT_NE(sealed, nullptr) << checkpoint;
    submission.resolved = "init_from: " + sealed->directory + "\n";
    submission.parent_leg = sealed->leg;
    submission.keeps_data_position = keeps;
  }

  void Advance(std::chrono::nanoseconds duration) {
    constexpr std::chrono::nanoseconds kTick = std::chrono::milliseconds(100);
    for (; duration > kTick; duration -= kTick) {
      clock_.Advance(kTick);
      RunUntilStable();
    }
    clock_.Advance(duration);
  }

  // Restarts the coordinator: volatile state is lost, and the event log is replayed.
  void Restart() {
    cluster_ = Cluster();
    for (const Event& event : log_) EXPECT_TRUE(Apply(event, cluster_).ok());
    for (auto& [name, agent] : agents_) {
      if (!agent.silent) Connect(agent);
    }
  }

  void MoveRanks(const Command& command) {
    const RunId run(command.object);
    const bool all =
        command.verb != "exit" && command.verb != "write" && !command.options.contains("rank");
    for (auto& [name, agent] : agents_) {
      for (RankReport& rank : agent.ranks()) {
        const bool meant = all || rank.rank == command.Number("rank", 0);
        if (rank.run != run || !rank.alive() || !meant) continue;
        const Assignment* assignment = agent.AssignmentFor(rank);
        const bool joins = assignment != nullptr && assignment->joins;
        if (joins == (command.verb == "standby") || !all) Move(command, rank);
      }
    }
  }

  static void Move(const Command& command, RankReport& rank) {
    if (command.verb == "listening") {
      rank.phase = RankPhase::kListening;
      rank.address = fmt::format("h:{}", 100 + rank.rank);
      Offer(command, rank);
    } else if (command.verb == "ready") {
      rank.phase = RankPhase::kReady;
      rank.holds = false;
    } else if (command.verb == "running") {
      rank.phase = RankPhase::kRunning;
      rank.step = command.Number("step", static_cast<int>(rank.step));
    } else if (command.verb == "hold") {
      rank.holds = true;
    } else if (command.verb == "standby") {
      rank.phase = RankPhase::kListening;
      rank.address = fmt::format("h:{}", 200 + rank.rank);
      rank.holds = true;
    } else if (command.verb == "exit") {
      rank.phase = RankPhase::kExited;
      rank.cause = kCauses.at(command.options.at("cause"));
      rank.exit_code = command.Number("code", rank.cause == ExitCause::kSignal ? kKillSignal : 1);
    } else if (command.verb == "write") {
      Write(command, rank);
    } else if (command.verb == "await") {
      rank.progress = RankProgress{.phase = "all-reduce",
                                   .awaits_peer = !command.options.contains("nothing"),
                                   .peer = command.Number("peer", -1),
                                   .still = std::chrono::milliseconds(command.Number("ms", 0)),
                                   .limit = std::chrono::seconds(2)};
    } else if (command.verb == "lack") {
      rank.waiting = command.Text("what", "");
    } else {
      ADD_FAILURE() << "unknown command " << command.verb;
    }
  }

  // isa=avx512,avx2 offers these levels, each with its tuned kernels; nccl=ID sets the id that rank
  // 0 offers.
  static void Offer(const Command& command, RankReport& rank) {
    const auto id = command.options.find("nccl");
    if (id != command.options.end() && rank.rank == 0) rank.nccl_id = id->second;
    const auto levels = command.options.find("isa");
    if (levels == command.options.end()) return;
    std::istringstream words(levels->second);
    for (std::string level; std::getline(words, level, ',');) {
      rank.isa_levels.push_back(level);
      rank.kernels[level] = fmt::format("tuned-{}", rank.rank);
    }
  }

  static void Write(const Command& command, RankReport& rank) {
    contract::WrittenCheckpoint written;
    written.step = command.Number("step", 0);
    written.directory = fmt::format("/storage/{}/checkpoints/step-{}-e{}", rank.run.value(),
                                    written.step, rank.epoch);
    written.manifest_digest = fmt::format("digest-{}-{}", written.step, rank.epoch);
    written.final = command.options.contains("final");
    const auto end = command.options.find("end_reason");
    if (end != command.options.end()) written.end_reason = end->second;
    const auto loss = command.options.find("loss");
    if (loss != command.options.end()) written.validation_loss = std::stod(loss->second);
    rank.written.push_back(written);
  }

  // Lets agents apply the desired state and report, until nothing durable changes.
  void RunUntilStable() {
    for (int round = 0; round < 10; ++round) {
      std::vector<Event> reports;
      for (auto& [name, agent] : agents_) {
        if (agent.silent) continue;
        const auto node = cluster_.FindNode(agent.id());
        agent.Obey(node->desired_revision, AssignmentsOf(cluster_, agent.id()));
        reports.push_back({.body = agent.Report()});
      }
      if (!Turn(reports)) return;
    }
  }

  // Processes the events; returns true if something durable was decided.
  bool Turn(const std::vector<Event>& events) {
    Batch batch(cluster_, {clock_.Now(), clock_.WallNow()});
    size_t asked = 0;
    for (const Event& event : events) {
      const auto admission = batch.AdmitEvent(event);
      if (!admission.ok()) told_ += fmt::format("refused: {}\n", Message(admission.status()));
      if (IsDurable(event) && admission.ok()) ++asked;
    }
    Tell(batch, asked);
    return !batch.durable().empty();
  }

  void Tell(Batch& batch, size_t asked) {
    const Cluster before = cluster_;
    batch.Plan(Policy(), [] { return std::string("nonce"); });
    for (const Violation& broken : FindViolations(before, batch.after(), batch.touched())) {
      ADD_FAILURE() << broken.run.value() << ": " << broken.rule;
    }
    cluster_ = batch.after();
    log_.insert(log_.end(), batch.durable().begin(), batch.durable().end());
    for (size_t i = asked; i < batch.durable().size(); ++i) Tell(batch.durable()[i]);
    for (const RunId& id : batch.touched()) TellReason(before, id);
  }

  void Tell(const Event& event) {
    if (const auto* ended = std::get_if<SweepEnded>(&event.body)) {
      static const std::map<SweepState, std::string> kStates = {
          {SweepState::kSucceeded, "succeeded"},
          {SweepState::kFailed, "failed"},
          {SweepState::kCancelled, "cancelled"}};
      told_ +=
          fmt::format("{} ended {}: {}\n", ended->sweep, kStates.at(ended->state), ended->reason);
      return;
    }
    told_ += fmt::format("{} {}{}\n", event.run, Kind(event), Details(event));
  }

  void TellReason(const Cluster& before, const RunId& id) {
    const auto was = before.FindRun(id);
    const auto is = cluster_.FindRun(id);
    if (was == nullptr || is == nullptr || was->state != is->state || was->reason == is->reason)
      return;
    if (IsWaiting(is->state)) told_ += fmt::format("{} waits: {}\n", id, is->reason);
  }

  static std::string Details(const Event& event) {
    if (const auto* queued = std::get_if<RunQueued>(&event.body)) return ": " + queued->reason;
    if (const auto* placed = std::get_if<RunPlaced>(&event.body)) {
      return fmt::format(" epoch={}: {}", placed->epoch, placed->reason);
    }
    if (const auto* ready = std::get_if<RunGroupReady>(&event.body)) {
      const auto kernels = ready->kernels.find(ready->isa);
      return (ready->isa.empty() ? "" : " isa=" + ready->isa) +
             (kernels == ready->kernels.end() ? "" : " kernels=" + kernels->second);
    }
    if (const auto* leg = std::get_if<LegRequested>(&event.body)) return ": " + leg->why;
    if (const auto* cancel = std::get_if<CancelRequested>(&event.body))
      return ": " + cancel->reason;
    if (const auto* failed = std::get_if<RankFailed>(&event.body)) return ": " + failed->message;
    if (const auto* sealed = std::get_if<CheckpointSealed>(&event.body)) {
      return fmt::format(" step={}{}", sealed->checkpoint.step,
                         sealed->checkpoint.final ? " final" : "");
    }
    if (const auto* retired = std::get_if<CheckpointRetired>(&event.body)) {
      return fmt::format(" step={}", retired->step);
    }
    if (const auto* warned = std::get_if<RunWarned>(&event.body)) return ": " + warned->text;
    if (const auto* paused = std::get_if<RunPaused>(&event.body)) return ": " + paused->reason;
    if (const auto* verified = std::get_if<CheckpointVerified>(&event.body)) {
      return ": " + verified->text;
    }
    if (const auto* damaged = std::get_if<CheckpointDamaged>(&event.body)) {
      return fmt::format(" step={}: {}", damaged->step, damaged->reason);
    }
    if (const auto* requeued = std::get_if<RunRequeued>(&event.body)) {
      return ": " + requeued->reason;
    }
    if (const auto* next = std::get_if<RunReconfigured>(&event.body)) {
      std::string members;
      for (const Placement& one : next->members) {
        members += fmt::format(" {}:{}", one.node, one.slot);
      }
      return fmt::format(" epoch={}{}: {}", next->epoch, members, next->reason);
    }
    if (const auto* placed = std::get_if<JoinerPlaced>(&event.body)) {
      return fmt::format(" rank={}: {}", placed->place.rank, placed->reason);
    }
    if (const auto* left = std::get_if<JoinerLeft>(&event.body)) return ": " + left->reason;
    if (const auto* draining = std::get_if<RunDraining>(&event.body)) {
      return ": " + draining->reason;
    }
    if (const auto* ended = std::get_if<RunEnded>(&event.body)) {
      return fmt::format(" {}: {}", Name(ended->state), ended->reason);
    }
    return "";
  }

  FakeClock clock_;
  Cluster cluster_;
  std::vector<Event> log_;
  std::map<std::string, ModelAgent> agents_;
  uint64_t sessions_ = 0;
  std::string told_;
};

}  // namespace

std::string RunScenario(const std::string& text) {
  World world;
  std::istringstream lines(text);
  std::string result;
  bool skipping = false;  // true while skipping a recorded answer
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) skipping = false;
    if (skipping) continue;
    result += line + "\n";
    if (line.empty() || line.front() == '#') continue;
    result += "----\n" + world.Do(Command(line));
    skipping = true;
  }
  return result;
}

}  // namespace gp::coordinator
