#include "worker/trainer/managed_training.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/machine/progress.h"
#include "base/stop_signals.h"
#include "contract/channel.h"
#include "worker/engine/collectives/device_group.h"
#include "worker/engine/collectives/node_group.h"
#include "worker/engine/collectives/tcp_communicator.h"
#include "worker/engine/step/training_error.h"
#include "worker/trainer/data_failure.h"
#include "worker/trainer/exit_code.h"
#include "worker/trainer/failure.h"
#include "worker/trainer/supervisor_link.h"
#include "worker/trainer/training_loop.h"

namespace gp::engine {
namespace {

using contract::ExitCause;

constexpr std::chrono::seconds kProgressInterval{10};

// How far apart in time the ranks of a group may receive the same Stop.
constexpr std::chrono::milliseconds kStopSpread{500};

// The time to save after a signal, because its sender does not tell how long it waits.
constexpr std::chrono::seconds kSignalSaveTime{30};

constexpr const char* kGpusDoNotEncrypt =
    "the coordinator's gradients.encrypted asks for encryption between nodes, and GPUs add "
    "gradients through NCCL, which does not encrypt; give the run the GPUs of one node";

// True when all `addresses`, each HOST:PORT, have one host.
bool OnOneHost(const std::vector<std::string>& addresses) {
  const auto host = [](const std::string& address) {
    return address.substr(0, address.rfind(':'));
  };
  return std::all_of(addresses.begin(), addresses.end(), [&](const std::string& address) {
    return host(address) == host(addresses.front());
  });
}

// While this object exists, Stop and a newer Configure may abort the group.
class AttachedGroup {
 public:
  AttachedGroup(SupervisorLink& link, Communicator& group, uint64_t epoch) : link_(link) {
    link_.AttachGroup(group, epoch);
  }
  ~AttachedGroup() { link_.ReleaseGroup(); }
  AttachedGroup(const AttachedGroup&) = delete;
  AttachedGroup& operator=(const AttachedGroup&) = delete;

 private:
  SupervisorLink& link_;
};

class ManagedTraining final : public TrainingEvents {
 public:
  ManagedTraining(SupervisorLink& link, const RunFiles& files, std::shared_ptr<RunStorage> storage,
                  const Clock& clock)
      : link_(link), files_(files), storage_(std::move(storage)), clock_(clock) {}

  void Run() {
    ExchangeHello();
    start_ = Await<link::Start>("Start");
    epoch_ = start_.epoch;
    step_ = std::max(start_.resume ? start_.resume->step : 0, start_.passes_over.value_or(0));
    runspec::RunSpec spec = LoadResolved(start_.resolved);
    ThrowIfUnusable(files_.Check(spec), /*begun=*/false);
    ResolveDevice(spec);
    const bool on_device = spec.resources.device == "gpu";
    if (!start_.isa.empty()) {
      Reproduce({start_.isa, start_.kernels}, spec.IsDeterministic(), start_.world_size, on_device);
    }
    TrainingLoop training(spec, Place(), *this, clock_, kProgressInterval);
    CheckShards(training.plan());
    listener_.emplace(start_.data_address);
    AddGroup(FormGroup(on_device, spec.IsDeterministic()));
    holds_ = start_.world_size > 1 && spec.RegroupsInPlace();
    if (!holds_) listener_.reset();  // later connections are refused
    training.Join(*groups_.back(), decided_);
    SendReady(training);
    Await<link::Go>("Go");
    link_.BeginSteps();
    if (RunSteps(training) == TrainingEnd::kStopped) LeaveSaved();
    link_.Send(link::Finished{.epoch = epoch_, .step = training.step()});
    if (written_step_) AwaitSeal(*written_step_);
  }

  void StepCommitted(const link::StepReport& report) override {
    step_ = report.point.step;
    link_.SetCommittedStep(step_);
    link_.Send(report);
  }

  void CheckpointWritten(const SavedCheckpoint& saved) override {
    written_step_ = saved.step;
    if (waiting_) SendWaiting("");
    link_.Send(link::CheckpointReport{saved, epoch_, saved.held_up_seconds});
  }

  void AwaitRetry(const std::string& reason, std::chrono::nanoseconds pause) override {
    SendWaiting(reason);
    const progress::Awaiting waiting(progress::Wait::kStorage);
    if (link_.LeavesWithin(pause, Leaving::kAtOnce)) throw TrainingStopped{};
  }

  // Sends the last message of a process that was asked to stop, or whose peer was.
  void SayStopped() {
    const std::string reason = link_.stop_reason();
    LogInfo("training stopped", {{"step", step_}, {"reason", reason}});
    link_.Send(link::Stopped{
        .epoch = epoch_, .step = step_, .reason = reason.empty() ? "a peer was stopped" : reason});
  }

 private:
  TrainingEnd RunSteps(TrainingLoop& training) {
    try {
      return RunInGroups(training);
    } catch (const TrainingStopped&) {
      if (MaySave(training)) SaveAndLeave(training);
      throw;
    } catch (const CollectiveError&) {
      if (MaySave(training)) SaveAndLeave(training);
      throw;
    }
  }

  // Trains in this group and, when it lost a rank, in the next one.
  TrainingEnd RunInGroups(TrainingLoop& training) {
    std::string lost;  // what broke the group; empty: nothing yet
    while (true) {
      try {
        if (!lost.empty()) EnterNextGroup(training, lost);
        return training.Run({.at_once = link_.stop_token(),
                             .after_step = [this] { return link_.leaving() != Leaving::kNo; }});
      } catch (const CollectiveError& error) {
        if (!holds_ || !training.CanEnterGroup() || link_.leaving() != Leaving::kNo) throw;
        lost = error.what();
      }
    }
  }

  // Keeps the state, and the memory of the groups before, until the next group has agreed on a
  // step: the prepared gradient may be there.
  void EnterNextGroup(TrainingLoop& training, const std::string& lost) {
    groups_.back()->Abort(lost);
    LogWarning("the group broke; this rank keeps its state and waits for another group",
               {{"reason", lost}, {"step", training.step()}, {"prepared", training.prepared()}});
    link_.Send(link::Held{.epoch = epoch_,
                          .committed = training.step(),
                          .prepared = training.prepared(),
                          .reason = lost});
    const GroupOptions options = GroupOf(AwaitNextConfigure());
    AddGroup(ConnectCpus(options));
    training.EnterGroup(*groups_.back(), epoch_);
    groups_.erase(groups_.begin(), std::prev(groups_.end()));
    SendReady(training);
  }

  link::Configure AwaitNextConfigure() {
    while (true) {
      auto message = link_.Next();
      if (!message) throw TrainingStopped{};
      auto* configure = std::get_if<link::Configure>(&*message);
      if (configure == nullptr || configure->epoch <= epoch_) continue;  // a Go of this epoch
      epoch_ = configure->epoch;
      return std::move(*configure);
    }
  }

  void AddGroup(std::unique_ptr<Communicator> group) {
    attached_.reset();
    groups_.push_back(std::move(group));
    attached_.emplace(link_, *groups_.back(), epoch_);
  }

  void SendReady(const TrainingLoop& training) {
    step_ = training.step();
    link_.SetCommittedStep(step_);
    link_.Send(link::Ready{.epoch = epoch_, .step = step_});
  }

  // Whether the last complete step can be saved after a step or an evaluation was aborted, here or
  // on a peer, because it took too long.
  bool MaySave(const TrainingLoop& training) const {
    return link_.leaving() == Leaving::kSaving && training.CanSave();
  }

  [[noreturn]] void SaveAndLeave(TrainingLoop& training) {
    LogInfo("the step was aborted; saving the last complete step", {{"step", training.step()}});
    training.SaveNow();
    LeaveSaved();
  }

  // Ends the training, after the coordinator has sealed the last checkpoint: one that is not in its
  // catalogue does not exist for later epochs. A refused checkpoint is only logged.
  [[noreturn]] void LeaveSaved() {
    if (written_step_) link_.WaitForSeal(*written_step_);
    throw TrainingStopped{};
  }

  void SendWaiting(const std::string& reason) {
    waiting_ = !reason.empty();
    link_.Send(link::Waiting{.epoch = epoch_, .reason = reason});
  }

  template <typename T>
  T Await(const char* name) {
    auto message = link_.Next();
    if (!message) throw TrainingStopped{};
    if (T* wanted = std::get_if<T>(&*message)) return std::move(*wanted);
    throw TrainingError(
        ExitCause::kError,
        fmt::format("link: expected {}, got a message of type {}", name, message->index() + 1));
  }

  void ExchangeHello() {
    const auto hello = Await<link::Hello>("Hello");
    incarnation_ = hello.incarnation;
    link_.Send(link::Hello{.version = GP_VERSION, .incarnation = incarnation_});
    link_.BeginBeats();
    if (link::IsCompatible(hello)) return;
    throw TrainingError(
        ExitCause::kError,
        fmt::format("link: the supervisor (version {}) speaks protocols {} to {}, this trainer "
                    "(version {}) {} to {}; install matching versions",
                    hello.version, hello.protocol_min, hello.protocol, GP_VERSION,
                    link::kProtocolMin, link::kProtocol));
  }

  TrainingPlace Place() const {
    return {.run_id = start_.run_id,
            .run_name = start_.run_name,
            .run_directory = start_.run_directory,
            .epoch = start_.epoch,
            .incarnation = incarnation_,
            .threads = std::max(start_.threads, 1),
            .resume = start_.resume,
            .begun = start_.begun.value_or(false),
            .begins_leg = start_.begins_leg.value_or(false),
            .passes_over = start_.passes_over.value_or(0),
            .storage = storage_};
  }

  void CheckShards(const runspec::BatchPlan& plan) const {
    if (start_.logical_shards == plan.logical_shards) return;
    throw TrainingError(
        ExitCause::kConfig,
        fmt::format("the run was planned with {} logical shards, its run file gives "
                    "{}; were coordinator and trainer built from one version?",
                    start_.logical_shards, plan.logical_shards));
  }

  // The listener's address identifies this process to the coordinator.
  std::unique_ptr<Communicator> FormGroup(bool on_device, bool deterministic) {
    const bool on_gpus = on_device && start_.world_size > 1;
    link_.Send(OfferOf(*listener_, on_device, on_gpus));
    const link::Configure configure = AwaitConfigure();
    const GroupOptions options = GroupOf(configure);
    if (!on_gpus) return ConnectCpus(options);
    if (options.encrypted && !OnOneHost(options.addresses)) {
      throw TrainingError(ExitCause::kConfig, kGpusDoNotEncrypt);
    }
    auto group = ConnectDeviceGroup(options, configure.nccl_id.value_or(""), deterministic,
                                    link_.stop_token());
    LogInfo("group connected", {{"ranks", group->size()}, {"through", DeviceGroupLibrary()}});
    return group;
  }

  link::Listening OfferOf(const TcpListener& listener, bool on_device, bool on_gpus) const {
    const progress::InPhase phase(progress::Phase::kTuning);
    return {.address = listener.address(),
            .isa_levels = OfferedLevels(on_device),
            .kernels = TunedKernels(Place().threads, on_device),
            .nccl_id = on_gpus ? OfferId() : std::nullopt};
  }

  // Loads NCCL on every rank, so that a rank without it fails before the other ranks wait for it.
  std::optional<std::string> OfferId() const {
    try {
      LogInfo("gradients travel through", {{"library", DeviceGroupLibrary()}});
      return start_.rank == 0 ? std::optional(MakeDeviceGroupId()) : std::nullopt;
    } catch (const std::exception& error) {
      throw TrainingError(ExitCause::kUnfit, error.what());
    }
  }

  std::unique_ptr<Communicator> ConnectCpus(const GroupOptions& options) {
    auto group = TcpCommunicator::Connect(options, *listener_, link_.BeginForming(options.epoch));
    if (group->strangers() > 0) {
      LogWarning("connections of strangers refused", {{"count", group->strangers()}});
    }
    LogInfo("group connected", {{"ranks", group->size()}, {"machines", group->nodes()}});
    return group;
  }

  link::Configure AwaitConfigure() {
    auto configure = Await<link::Configure>("Configure");
    if (configure.epoch != start_.epoch || configure.rank != start_.rank ||
        configure.addresses.size() != static_cast<size_t>(start_.world_size)) {
      throw TrainingError(ExitCause::kError,
                          fmt::format("link: Configure of epoch {} with {} ranks does not follow "
                                      "from Start of epoch {} with {}",
                                      configure.epoch, configure.addresses.size(), start_.epoch,
                                      start_.world_size));
    }
    decided_ = {.isa = configure.isa.value_or(start_.isa),
                .kernels = configure.kernels.value_or(start_.kernels)};
    return configure;
  }

  GroupOptions GroupOf(const link::Configure& configure) const {
    return {.run_id = start_.run_id,
            .epoch = configure.epoch,
            .rank = configure.rank,
            .logical_shards = start_.logical_shards,
            .addresses = configure.addresses,
            .secret = configure.secret,
            .encrypted = configure.encrypted.value_or(false),
            .machine = MachineIdentity(),
            .timeout = CollectiveTimeout::kLong,
            .regroups = configure.epoch != start_.epoch};
  }

  // Waits until the coordinator has sealed the final checkpoint. Without it in the catalogue, the
  // run is not done.
  void AwaitSeal(int64_t step) {
    const auto seal = link_.WaitForSeal(step);
    if (!seal) throw TrainingStopped{};
    if (seal->sealed) return;
    throw TrainingError(
        ExitCause::kStorage,
        fmt::format("the final checkpoint of step {} was refused: {}", step, seal->reason));
  }

  SupervisorLink& link_;
  const RunFiles& files_;
  const std::shared_ptr<RunStorage> storage_;
  const Clock& clock_;
  std::string incarnation_;
  link::Start start_;
  uint64_t epoch_ = 0;    // of the group; grows when this process enters another one
  EngineRecord decided_;  // set by AwaitConfigure
  bool holds_ = false;    // this rank keeps its state when it loses a peer
  // Closed when the group is complete, unless this process may enter another one.
  std::optional<TcpListener> listener_;
  // The group in force is the last one.
  std::vector<std::unique_ptr<Communicator>> groups_;
  std::optional<AttachedGroup> attached_;
  int64_t step_ = 0;                     // last committed step
  std::optional<int64_t> written_step_;  // step of the newest checkpoint that this process wrote
  bool waiting_ = false;  // a Waiting message with a reason was sent to the supervisor
};

// Whether a failure is only a result of Stop: any failure after a request to exit at once, and a
// lost peer after any Stop. Waits kStopSpread for a Stop, because peers that received theirs
// earlier may exit before this rank's arrives.
bool FollowsFromStop(SupervisorLink& link, const link::Failed& failed) {
  return failed.cause == ExitCause::kCollective
             ? link.LeavesWithin(kStopSpread, Leaving::kSaving)
             : link.LeavesWithin(std::chrono::milliseconds(0), Leaving::kAtOnce);
}

int Fail(SupervisorLink& link, const link::Failed& failed) {
  LogError("training failed", {{"reason", failed.message}});
  link.Send(failed);
  return ProcessStatus(ExitCodeOf(failed.cause));
}

}  // namespace

int RunManaged(FileDescriptor socket, const RunFiles& files, std::shared_ptr<RunStorage> storage,
               const Clock& clock) {
  link::Channel channel(std::move(socket), "supervisor");
  SupervisorLink link(channel);
  const StopSignals signals([&link](const std::string& signal) {
    link.RequestStop(StopAsker::kSignal, signal, kSignalSaveTime);
  });
  ManagedTraining training(link, files, std::move(storage), clock);
  const progress::Training reports;
  try {
    training.Run();
    LogInfo("training finished");
    return ProcessStatus(ExitCode::kOk);
  } catch (const TrainingStopped&) {
    training.SayStopped();
    return ProcessStatus(ExitCode::kOk);
  } catch (...) {
    const link::Failed failed = CurrentFailure();
    if (!FollowsFromStop(link, failed)) return Fail(link, failed);
    training.SayStopped();
    return ProcessStatus(ExitCode::kOk);
  }
}

}  // namespace gp::engine
