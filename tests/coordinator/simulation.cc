#include "coordinator/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/control/replay.h"

namespace gp::coordinator {
namespace {

constexpr int64_t kTargetSteps = 30;
constexpr int64_t kCheckpointSteps = 10;
constexpr int kRunsBeforeSweep = 6;
const SweepId kSweep("default/sweep");
constexpr std::chrono::milliseconds kTurn{100};

struct Killed {};

Policy MakePolicy() {
  Policy policy;
  policy.lease = std::chrono::seconds(3);
  policy.start_timeout = std::chrono::seconds(60);
  policy.finish_timeout = std::chrono::seconds(5);
  return policy;
}

// The run's last step.
int64_t TargetOf(const Assignment& assignment) {
  const int64_t budget = assignment.run->submission->target_steps;
  return budget > 0 ? budget : kTargetSteps;
}

}  // namespace

// A store whose process may be killed before or after its next write.
class Simulation::CrashingStore final : public Store {
 public:
  enum class Death { kNone, kBefore, kAfter };

  explicit CrashingStore(MemoryStore::Disk& disk) : store_(disk) {}

  uint64_t generation() const override { return store_.generation(); }
  StatusOr<uint64_t> Append(const std::vector<Event>& events) override {
    if (death == Death::kBefore) throw Killed();
    const auto first = store_.Append(events);
    if (death == Death::kAfter) throw Killed();
    return first;
  }
  Status Load(const std::function<void(const StoredEvent&)>& visit) override {
    return store_.Load(visit);
  }
  StatusOr<std::vector<StoredEvent>> ReadRun(const RunId& run, uint64_t after, int limit) override {
    return store_.ReadRun(run, after, limit);
  }
  StatusOr<std::vector<EndedRun>> ListEnded(const RunQuery& query,
                                            const EndedRange& range) override {
    return store_.ListEnded(query, range);
  }

  Death death = Death::kNone;

 private:
  MemoryStore store_;
};

class Simulation::Recorder final : public BatchObserver {
 public:
  void OnBatch(const PublishedBatch&) override {}
};

Simulation::Simulation(uint64_t seed) : random_(seed), observer_(std::make_unique<Recorder>()) {
  int number = 0;
  for (const int slots : {1, 2, 4}) {
    peers_.push_back({ModelAgent("node" + std::to_string(number++), slots), false, {}, {}});
  }
  for (const int slots : {2, 3}) {
    peers_.push_back({ModelAgent("node" + std::to_string(number++), 0, slots), false, {}, {}});
  }
  StartCoordinator();
}

Simulation::~Simulation() = default;

bool Simulation::Chance(double probability) {
  return std::uniform_real_distribution<>(0, 1)(random_) < probability;
}

int Simulation::Pick(int least, int most) {
  return std::uniform_int_distribution<>(least, most)(random_);
}

void Simulation::Run(int chaos_turns) {
  for (int turn = 0; turn < chaos_turns && !::testing::Test::HasFailure(); ++turn) Turn();
  chaos_ = false;
  FinishRuns();
}

void Simulation::RunCalmly(int turns) {
  chaos_ = false;
  for (int turn = 0; turn < turns && !::testing::Test::HasFailure(); ++turn) Turn();
  FinishRuns();
}

void Simulation::FinishRuns() {
  busy_ = false;
  for (int turn = 0; turn < 6000 && !::testing::Test::HasFailure() && !AllEnded(); ++turn) Turn();
  if (::testing::Test::HasFailure()) return;
  for (const RunId& id : acknowledged_) {
    const auto run = reconciler_->snapshot()->FindRun(id);
    ASSERT_TRUE(run != nullptr && IsTerminal(run->state))
        << id.value() << " does not end: " << (run == nullptr ? "lost" : run->reason);
    ASSERT_NE(run->state, RunState::kFailed) << run->reason;
    ASSERT_TRUE(run->state != RunState::kSucceeded || run->checkpoints.back().final) << id.value();
  }
  CheckSweepEnd();
}

// The sweep has ended, and no trial of it has failed.
void Simulation::CheckSweepEnd() const {
  const auto cluster = reconciler_->snapshot();
  const auto sweep = cluster->FindSweep(kSweep);
  if (sweep == nullptr) return;  // its submit was lost
  const bool ended =
      sweep->state == SweepState::kSucceeded || sweep->state == SweepState::kCancelled;
  ASSERT_TRUE(ended) << sweep->reason;
  for (const SweepTrial& trial : sweep->spec->trials) {
    const auto run = cluster->FindRun(trial.run);
    if (run == nullptr && sweep->state == SweepState::kCancelled) continue;
    ASSERT_NE(run, nullptr) << trial.run.value();
    ASSERT_TRUE(run->state == RunState::kSucceeded || run->state == RunState::kCancelled)
        << trial.run.value() << ": " << run->reason;
  }
}

void Simulation::Turn() {
  clock_.Advance(chaos_ && Chance(0.005) ? std::chrono::milliseconds(5000) : kTurn);
  if (chaos_ && Chance(0.01)) clock_.StepWall(std::chrono::seconds(Pick(-3600, 3600)));
  UserTurn();
  OperatorTurn();
  for (Peer& peer : peers_) PeerTurn(peer);
  CoordinatorTurn();
  Check();
}

// Sends an operator's request. It is lost if the coordinator is killed before the request is
// durable.
void Simulation::Request(EventBody body) {
  reconciler_->Request({.actor = "operator", .body = std::move(body)},
                       [](const StatusOr<Admission>&) {});
}

// Cordons, drains and uncordons random nodes. Once the simulation winds down, it uncordons all
// nodes.
void Simulation::OperatorTurn() {
  const auto cluster = reconciler_->snapshot();
  if (!busy_) {
    for (const auto& [id, node] : cluster->nodes) {
      if (node->cordon) Request(NodeUncordoned{id});
    }
    return;
  }
  if (!Chance(0.02)) return;
  const NodeId id =
      peers_[static_cast<size_t>(Pick(0, static_cast<int>(peers_.size()) - 1))].agent.id();
  if (Chance(0.5)) return Request(NodeUncordoned{id});
  Request(NodeCordoned{id, id.value(), Chance(0.7), "maintenance"});
}

void Simulation::UserTurn() {
  if (!busy_) return;
  if (submits_ < 12 && Chance(0.05)) Submit();
  if (submits_ == kRunsBeforeSweep && !has_sweep_) SubmitSweep();
  if (has_sweep_ && Chance(0.001)) Request(SweepCancelled{kSweep});
  if (!acknowledged_.empty() && Chance(0.005)) {
    const RunId& run =
        *std::next(acknowledged_.begin(), Pick(0, static_cast<int>(acknowledged_.size()) - 1));
    reconciler_->Request({.run = run, .actor = "user", .body = CancelRequested{}},
                         [](const StatusOr<Admission>&) {});
  }
}

void Simulation::Submit() {
  Submission submission;
  const std::string name = "run" + std::to_string(submits_++);
  submission.name = name;
  submission.request_id = name;
  submission.workers = Pick(1, 5);
  if (submission.workers > 1 && Chance(0.5)) {
    submission.survivors_min = Pick(1, submission.workers);
  }
  submission.priority = Pick(0, 1);
  submission.device = Chance(0.6) ? Device::kCpu : Chance(0.5) ? Device::kGpu : Device::kAuto;
  submission.retries_max = 1000000;
  submission.retry_backoff = std::chrono::milliseconds(200);
  submission.retry_backoff_max = std::chrono::seconds(2);
  submission.keep_last = Pick(1, 3);
  submission.run_directory = "/storage/" + name;
  reconciler_->Request(
      {.run = RunId(name), .actor = "user", .request_id = name, .body = RunSubmitted{submission}},
      [this](const StatusOr<Admission>& admission) {
        if (admission.ok()) acknowledged_.insert(admission->run);
      });
}

void Simulation::SubmitSweep() {
  has_sweep_ = true;
  SweepSpec spec{.name = "sweep",
                 .run_namespace = "default",
                 .body_digest = "sweep",
                 .max_parallel = 2,
                 .early_stop = {EarlyStopKind::kHalving, kCheckpointSteps, 2, {10, 20, 30}},
                 .trials = {}};
  for (int number = 1; number <= 4; ++number) {
    const std::string name = fmt::format("trial{}", number);
    SweepTrial trial{.run = RunId(name), .rung_tokens = {1, 2, 3}};
    trial.submission.name = name;
    trial.submission.request_id = name;
    trial.submission.retries_max = 1000000;
    trial.submission.retry_backoff = std::chrono::milliseconds(200);
    trial.submission.retry_backoff_max = std::chrono::seconds(2);
    trial.submission.run_directory = "/storage/" + name;
    trial.submission.target_steps = spec.early_stop.rungs.front();
    trial.submission.resolved = "name: x\nbudget:\n  steps: 10\n";
    spec.trials.push_back(std::move(trial));
  }
  reconciler_->Request({.actor = "user",
                        .request_id = "sweep",
                        .body = SweepSubmitted{std::make_shared<const SweepSpec>(spec)}},
                       [](const StatusOr<Admission>&) {});
}

void Simulation::PeerTurn(Peer& peer) {
  if (chaos_ && Chance(0.01)) {
    peer.agent.Crash();
    peer.connected = false;
    peer.up.clear();
    peer.down.clear();
  }
  if (chaos_ && peer.connected && Chance(0.01)) {
    peer.up.push_back({.body = peer.agent.Goodbye()});
    peer.connected = false;
  }
  if (!peer.connected && Chance(0.2)) {
    peer.connected = true;
    peer.down.clear();
    peer.up.push_back({.body = peer.agent.Hello(++sessions_)});
  }
  if (chaos_ && peer.agent.gpu_count() > 0 && Chance(0.005)) {
    peer.agent.LoseGpu(Pick(0, peer.agent.gpu_count() - 1));
  }
  if (!chaos_ || Chance(0.02)) peer.agent.Mend();
  for (RankReport& rank : peer.agent.ranks()) TrainerTurn(peer, rank);
  if (peer.connected) peer.up.push_back({.body = peer.agent.Report()});
  Deliver(peer);
}

bool Simulation::PeerIsGone(const Assignment& assignment) const {
  int alive = 0;
  for (const Peer& peer : peers_) {
    for (const RankReport& rank : peer.agent.ranks()) {
      const bool is_member = rank.rank < static_cast<int>(assignment.run->placement.size());
      if (rank.run == assignment.run->id && rank.epoch == assignment.run->epoch && is_member) {
        alive += rank.alive() || rank.cause == ExitCause::kCompleted ? 1 : 0;
      }
    }
  }
  return alive < static_cast<int>(assignment.run->placement.size());
}

// For GPU groups, the rank must wait for the NCCL id. All ranks of an epoch must get the same id.
bool Simulation::MayConnect(const RankReport& rank, const Assignment& assignment) {
  if (!assignment.run->group) return false;
  if (!SumsOnGpus(*assignment.run)) return true;
  if (assignment.nccl_id.empty()) return false;
  const auto [first, fresh] =
      connected_with_.try_emplace({rank.run, rank.epoch}, assignment.nccl_id);
  EXPECT_EQ(first->second, assignment.nccl_id) << rank.run.value() << " epoch " << rank.epoch;
  return true;
}

void Simulation::TrainerTurn(Peer& peer, RankReport& rank) {
  const Assignment* assignment = peer.agent.AssignmentFor(rank);
  if (!rank.alive() || assignment == nullptr) return;
  const auto exit = [&](ExitCause cause) {
    rank.phase = RankPhase::kExited;
    rank.cause = cause;
  };
  if (assignment->stop) return exit(ExitCause::kStopped);
  if (chaos_ && Chance(0.005)) {
    rank.exit_code = kKillSignal;
    return exit(ExitCause::kSignal);
  }
  if (chaos_ && Chance(0.002)) return exit(ExitCause::kStopped);
  if (assignment->joins) return PrepareToJoin(rank);
  if (rank.phase >= RankPhase::kReady && PeerIsGone(*assignment)) {
    if (Chance(0.5)) LosePeer(rank, *assignment);
    return;
  }
  if (!assignment->incarnation.empty() && rank.phase == RankPhase::kListening) {
    return EnterGroup(rank, *assignment);
  }
  if (rank.phase == RankPhase::kStarting && Chance(0.5)) {
    rank.phase = RankPhase::kListening;
    rank.address = "h:" + std::to_string(++addresses_);
    if (rank.rank == 0) rank.nccl_id = "id of " + rank.address;
  } else if (rank.phase == RankPhase::kListening && FindsDamaged(peer, *assignment)) {
    exit(ExitCause::kDamagedCheckpoint);
  } else if (rank.phase == RankPhase::kListening && Chance(0.5) && MayConnect(rank, *assignment)) {
    rank.phase = RankPhase::kReady;
    rank.step = assignment->resume ? assignment->resume->step : 0;
  } else if (rank.phase == RankPhase::kReady && assignment->run->go) {
    rank.phase = RankPhase::kRunning;
  } else if (rank.phase >= RankPhase::kRunning && !Hangs(rank, *assignment)) {
    RunStep(rank, *assignment);
  }
}

// Ranks that can go on in place keep their state; sometimes one cannot, because it was interrupted
// in an update.
void Simulation::LosePeer(RankReport& rank, const Assignment& assignment) {
  const bool in_place =
      assignment.run->submission->survivors_min > 0 && !SumsOnGpus(*assignment.run);
  if (in_place && Chance(0.9)) {
    rank.holds = true;
    return;
  }
  rank.phase = RankPhase::kExited;
  rank.cause = ExitCause::kCollective;
}

void Simulation::PrepareToJoin(RankReport& rank) {
  if (!Chance(0.5)) return;
  rank.holds = rank.phase == RankPhase::kListening;
  rank.phase = RankPhase::kListening;
  if (rank.address.empty()) rank.address = "h:" + std::to_string(++addresses_);
}

// The ranks of a group agree on the newest step.
void Simulation::EnterGroup(RankReport& rank, const Assignment& assignment) {
  if (PeerIsGone(assignment)) return;
  for (const Peer& peer : peers_) {
    for (const RankReport& other : peer.agent.ranks()) {
      if (other.run != rank.run || other.epoch != rank.epoch) continue;
      rank.step = std::max(rank.step, other.step);
    }
  }
  rank.holds = false;
  rank.phase = RankPhase::kReady;
  // The rank that led before may not have saved the newest step.
  if (rank.rank == 0 && rank.step > 0 && rank.step % kCheckpointSteps == 0) {
    WriteCheckpoint(rank, assignment);
  }
}

// A hang outlasts the chaos. An agent kills a rank that hangs alone, as gp-worker does.
bool Simulation::Hangs(RankReport& rank, const Assignment& assignment) {
  const std::pair group(rank.run, rank.epoch);
  const auto ranks = static_cast<int>(assignment.run->placement.size());
  if (chaos_ && ranks > 1 && Chance(0.002)) cut_.insert(group);
  // Once a run: hangs in the same step on two nodes would rightly end it.
  if (chaos_ && !has_hung_.contains(rank.run) && Chance(0.005)) {
    has_hung_.insert(rank.run);
    hung_.insert(rank.incarnation);
  }
  const bool alone = hung_.contains(rank.incarnation);
  if (!alone && !cut_.contains(group)) return false;
  if (!rank.progress) rank.progress.emplace();
  rank.progress->awaits_peer = !alone;
  rank.progress->peer = (rank.rank + 1) % ranks;
  rank.progress->limit = std::chrono::seconds(2);
  rank.progress->still += kTurn;
  if (!alone || rank.progress->still < rank.progress->limit) return true;
  rank.phase = RankPhase::kExited;
  rank.cause = ExitCause::kStalled;
  return true;
}

// Every node recognises a damaged checkpoint. During chaos the first node sometimes reports an
// intact one as damaged.
bool Simulation::FindsDamaged(const Peer& peer, const Assignment& assignment) {
  if (!assignment.resume) return false;
  if (damaged_.contains(assignment.resume->manifest_digest)) return true;
  return chaos_ && &peer == &peers_.front() && Chance(0.1);
}

// The coordinator's own read of a suspected checkpoint takes a few turns; a kill of the coordinator
// aborts it.
void Simulation::ReadSuspected() {
  const auto cluster = reconciler_->snapshot();
  for (const auto& [sequence, id] : cluster->busy) {
    const auto run = cluster->FindRun(id);
    if (!run->suspicion || !run->suspicion->asks_coordinator || !Chance(0.2)) continue;
    const int64_t step = run->suspicion->step;
    CheckpointRead read{.step = step, .text = "as it is"};
    if (!chaos_ || Chance(0.8)) {
      const bool damaged = damaged_.contains(run->FindCheckpoint(step)->manifest_digest);
      read.verdict = damaged ? Verdict::kDamaged : Verdict::kWhole;
    }
    reconciler_->Post({.run = id, .body = read});
  }
}

void Simulation::WriteCheckpoint(RankReport& rank, const Assignment& assignment) {
  contract::WrittenCheckpoint written;
  written.step = rank.step;
  written.directory = assignment.run->submission->run_directory + "/checkpoints/step-x";
  written.manifest_digest = fmt::format("{}-{}-{}", rank.run, rank.epoch, rank.step);
  written.validation_loss = 3.0 - 0.01 * static_cast<double>(rank.step);
  written.final = rank.step == TargetOf(assignment);
  // Never damage two checkpoints in a row, or one whose predecessor was lost with the rank that
  // wrote it: a run without an intact earlier checkpoint rightly fails.
  const bool has_another = assignment.run->FindCheckpoint(rank.step - kCheckpointSteps) != nullptr;
  if (chaos_ && has_another && rank.step / kCheckpointSteps % 2 == 0 && Chance(0.1)) {
    damaged_.insert(written.manifest_digest);
  }
  rank.written.push_back(written);
}

void Simulation::RunStep(RankReport& rank, const Assignment& assignment) {
  std::erase_if(rank.written, [&](const contract::WrittenCheckpoint& written) {
    const auto& sealed = assignment.sealed_steps;
    const bool is_sealed = std::find(sealed.begin(), sealed.end(), written.step) != sealed.end();
    if (is_sealed) seals_.try_emplace({rank.run, written.step}, written.manifest_digest);
    const auto& refused = assignment.refused_seals;
    return is_sealed || std::any_of(refused.begin(), refused.end(), [&](const RefusedSeal& one) {
             return one.step == written.step;
           });
  });
  if (rank.step < TargetOf(assignment)) {
    ++rank.step;
    Epoch& newest = stepping_[rank.run];
    EXPECT_GE(rank.epoch, newest) << rank.run.value() << ": two groups commit steps at a time";
    newest = std::max(newest, rank.epoch);
    if (rank.rank != 0 || rank.step % kCheckpointSteps != 0) return;
    WriteCheckpoint(rank, assignment);
    return;
  }
  if (!rank.written.empty()) return;
  rank.phase = RankPhase::kExited;
  rank.cause = ExitCause::kCompleted;
}

// Loses, repeats and delays messages. The agent ignores an outdated desired state, which it
// recognises by the revision.
void Simulation::Deliver(Peer& peer) {
  while (!peer.up.empty()) {
    if (chaos_ && Chance(0.1)) break;
    Event event = std::move(peer.up.front());
    peer.up.pop_front();
    const bool report = std::holds_alternative<NodeReported>(event.body);
    if (chaos_ && report && Chance(0.05)) continue;
    if (chaos_ && report && Chance(0.05)) reconciler_->Post(event);
    reconciler_->Post(std::move(event));
  }
  const auto cluster = reconciler_->snapshot();
  const auto node = cluster->FindNode(peer.agent.id());
  if (peer.connected && node != nullptr && node->session == peer.agent.session()) {
    peer.down.push_back({node->desired_revision, AssignmentsOf(*cluster, node->id)});
  }
  while (!peer.down.empty()) {
    if (chaos_ && Chance(0.1)) break;
    const auto which = chaos_ ? Pick(0, static_cast<int>(peer.down.size()) - 1) : 0;
    peer.agent.Obey(peer.down[static_cast<size_t>(which)].revision,
                    peer.down[static_cast<size_t>(which)].assignments);
    peer.down.erase(peer.down.begin() + which);
  }
}

void Simulation::CoordinatorTurn() {
  if (chaos_ && Chance(0.005)) paused_turns_ = Pick(1, 60);
  if (paused_turns_ > 0) {
    --paused_turns_;
    return;
  }
  if (chaos_ && Chance(0.01)) return KillCoordinator();
  ReadSuspected();
  if (chaos_ && Chance(0.02)) {
    store_->death = Chance(0.5) ? CrashingStore::Death::kBefore : CrashingStore::Death::kAfter;
  }
  try {
    reconciler_->RunOnce(std::chrono::nanoseconds(0));
  } catch (const Killed&) {
    KillCoordinator();
  }
}

void Simulation::KillCoordinator() {
  ++coordinator_kills_;
  for (Peer& peer : peers_) {
    peer.connected = false;
    peer.up.clear();
    peer.down.clear();
  }
  StartCoordinator();
}

void Simulation::StartCoordinator() {
  reconciler_.reset();
  store_ = std::make_unique<CrashingStore>(disk_);
  auto cluster = ReplayStore(*store_);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  ReconcilerOptions options;
  options.policy = MakePolicy();
  reconciler_ =
      std::make_unique<Reconciler>(*store_, clock_, *observer_, std::move(*cluster), options);
}

// The Reconciler also checks its own invariants and aborts when one is broken.
void Simulation::Check() {
  const auto cluster = reconciler_->snapshot();
  for (const RunId& id : acknowledged_) {
    const auto run = cluster->FindRun(id);
    ASSERT_NE(run, nullptr) << "an acknowledged submit is lost: " << id.value();
    if (!IsTerminal(run->state)) {
      ASSERT_FALSE(ends_.contains(id)) << id.value() << " had ended";
      continue;
    }
    const auto [seen, fresh] = ends_.try_emplace(id, run->state);
    ASSERT_EQ(seen->second, run->state) << id.value();
  }
  CheckPlacements(*cluster);
  CheckSweeps(*cluster);
  RunTally counted;
  for (const auto& [sequence, id] : cluster->live) counted.Replace(nullptr, *cluster->FindRun(id));
  ASSERT_EQ(cluster->tally, counted);
  for (const auto& [key, digest] : seals_) {
    const auto run = cluster->FindRun(key.first);
    const SealedCheckpoint* sealed = run == nullptr ? nullptr : run->FindCheckpoint(key.second);
    if (damaged_.contains(digest)) continue;
    ASSERT_NE(sealed, nullptr) << "a sealed checkpoint is lost: step " << key.second;
    ASSERT_EQ(sealed->manifest_digest, digest) << "a sealed checkpoint was replaced";
  }
}

// Placements must avoid every cordon, because a turn handles requests before it places runs.
void Simulation::CheckPlacements(const Cluster& cluster) {
  for (const auto& [sequence, id] : cluster.busy) {
    const auto run = cluster.FindRun(id);
    Epoch& seen = epochs_[id];
    if (run->epoch == seen) continue;
    ASSERT_GT(run->epoch, seen) << id.value() << ": its epoch went back";
    seen = run->epoch;
    if (run->epoch > run->placed_epoch) continue;  // its ranks were there before the cordon
    for (const Placement& place : run->placement) {
      const auto node = cluster.FindNode(place.node);
      ASSERT_FALSE(node->cordon.has_value())
          << id.value() << " epoch " << seen << " was placed on " << place.node.value();
    }
  }
}

void Simulation::CheckSweeps(const Cluster& cluster) {
  for (const auto& [sequence, id] : cluster.live_sweeps) {
    const SweepSpec& spec = *cluster.FindSweep(id)->spec;
    const auto live = std::ranges::count_if(spec.trials, [&](const SweepTrial& trial) {
      const auto run = cluster.FindRun(trial.run);
      return run != nullptr && !IsTerminal(run->state);
    });
    ASSERT_LE(live, spec.max_parallel) << "more trials than may run at a time";
  }
}

bool Simulation::AllEnded() const {
  const auto cluster = reconciler_->snapshot();
  return cluster->live.empty() && cluster->live_sweeps.empty();
}

int Simulation::quarantined() const {
  size_t quarantined = 0;
  reconciler_->snapshot()->runs.ForEach(
      [&](const RunId&, const std::shared_ptr<const gp::coordinator::Run>& run) {
        quarantined += run->quarantined.size();
      });
  return static_cast<int>(quarantined);
}

int Simulation::promotions() const {
  int promotions = 0;
  const Status loaded = store_->Load([&promotions](const StoredEvent& stored) {
    promotions += std::holds_alternative<LegRequested>(stored.event.body) ? 1 : 0;
  });
  EXPECT_TRUE(loaded.ok()) << loaded;
  return promotions;
}

int Simulation::drains() const {
  int drains = 0;
  const Status loaded = store_->Load([&drains](const StoredEvent& stored) {
    drains += std::holds_alternative<RunDraining>(stored.event.body) ? 1 : 0;
  });
  EXPECT_TRUE(loaded.ok()) << loaded;
  return drains;
}

int Simulation::regroups() const {
  int regroups = 0;
  const Status loaded = store_->Load([&regroups](const StoredEvent& stored) {
    regroups += std::holds_alternative<RunReconfigured>(stored.event.body) ? 1 : 0;
  });
  EXPECT_TRUE(loaded.ok()) << loaded;
  return regroups;
}

int Simulation::joins() const {
  int joins = 0;
  const Status loaded = store_->Load([&joins](const StoredEvent& stored) {
    const auto* next = std::get_if<RunReconfigured>(&stored.event.body);
    if (next == nullptr) return;
    joins += std::ranges::any_of(next->members, &Placement::joins) ? 1 : 0;
  });
  EXPECT_TRUE(loaded.ok()) << loaded;
  return joins;
}

int Simulation::stalls() const {
  int stalls = 0;
  const Status loaded = store_->Load([&stalls](const StoredEvent& stored) {
    const auto* failed = std::get_if<RankFailed>(&stored.event.body);
    stalls += failed != nullptr && failed->cause == ExitCause::kStalled ? 1 : 0;
  });
  EXPECT_TRUE(loaded.ok()) << loaded;
  return stalls;
}

int Simulation::failures() const {
  int failures = 0;
  reconciler_->snapshot()->runs.ForEach(
      [&](const RunId&, const std::shared_ptr<const gp::coordinator::Run>& run) {
        failures += run->failures;
      });
  return failures;
}

}  // namespace gp::coordinator
