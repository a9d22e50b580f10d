#include "client/gpctl/faults/fault_bench.h"

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

#include "base/file.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/faults/trainers.h"

namespace gp::gpctl {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPoll{5};
// Longer than any of these runs takes on a busy machine.
constexpr std::chrono::minutes kRunTimeout{10};
constexpr int kFirstStep = 5;      // earliest step at which a run is hurt
constexpr int kStepsApart = 30;    // most steps between two faults
constexpr int kMomentUs = 30'000;  // then any moment within about a step
constexpr int kTwoWithinUs = 100'000;
constexpr int kTextLines = 4000;
constexpr int kKillsTold = 10;
constexpr int kUnhurtMax = 10;

std::string TrainingText() {
  std::string text;
  for (int line = 0; line < kTextLines; ++line) {
    text += fmt::format("line {} of a text that says {} and then {}.\n", line, line * 7919 % 1009,
                        line * line % 997);
  }
  return text;
}

// It evaluates, samples and saves, so that faults meet these, too.
std::string RunFile(const FaultBenchOptions& options, int ranks) {
  return fmt::format(
      "apiVersion: gp/v1\n"
      "name: faults\n"
      "model: {{n_layer: 3, n_head: 4, n_embd: 256, n_ctx: 32, dropout: 0.1}}\n"
      "data: {{text: [text.txt], tokenizer: bytes}}\n"
      "resources: {{workers: {}, max_workers: {}, device: cpu}}\n"
      "batch: {{micro_batch: 1, sequence: 32, total_tokens: 128}}\n"
      "budget: {{steps: {}}}\n"
      "eval: {{every: 25, batches: 2}}\n"
      "sample: {{every: 40, max_tokens: 4}}\n"
      "checkpoint: {{every: 20, keep_last: 2}}\n"
      "retries: {{max: 1000, backoff: 50ms, backoff_max: 200ms}}\n"
      "stability: {{recovery: {}}}\n",
      ranks, FaultBench::kRanks, options.steps, ranks == 1 ? "restart" : options.recovery);
}

}  // namespace

FaultBench::FaultBench(FaultService& service, const FaultBenchOptions& options, const Clock& clock,
                       client::Interruption& interruption,
                       std::function<void(const std::string&)> tell)
    : service_(service),
      options_(options),
      clock_(clock),
      interruption_(interruption),
      tell_(std::move(tell)),
      client_({.address = service.address()}, interruption),
      random_(options.seed) {}

std::vector<FaultBench::Kind> FaultBench::Kinds() {
  return {
      {.name = "kill a rank", .faults_per_run = kRanks - 1, .strike = &FaultBench::KillOneRank},
      {.name = "kill two ranks within 100 ms", .processes = 2, .strike = &FaultBench::KillTwoRanks},
      {.name = "kill rank 0",
       .faults_per_run = kRanks - 1,
       .share = 2,
       .strike = &FaultBench::KillRankZero},
      {.name = "kill an agent", .share = 5, .strike = &FaultBench::KillAgent},
      {.name = "kill the coordinator",
       .faults_per_run = 3,
       .share = 5,
       .ends_group = false,
       .strike = &FaultBench::KillCoordinator},
      {.name = "kill all ranks",
       .processes = kRanks,
       .faults_per_run = 2,
       .share = 2,
       .strike = &FaultBench::KillAllRanks},
  };
}

Status FaultBench::Prepare() {
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(service_.directory(), "text.txt"), TrainingText()));
  ASSIGN_OR_RETURN(const v1::Run run, Submit(1));
  ASSIGN_OR_RETURN(const v1::Run end, Await(run.run_id(), [](const v1::Run& now) {
                     return client::IsTerminal(now.state());
                   }));
  if (end.state() != v1::RUN_STATE_SUCCEEDED) return Internal("{}", end.reason());
  ASSIGN_OR_RETURN(undisturbed_, WeightsOf(run.run_id()));
  gradient_bytes_ = undisturbed_.size();
  ASSIGN_OR_RETURN(const v1::CheckpointsResponse sealed, client_.Checkpoints(run.run_id()));
  checkpoint_bytes_ = sealed.checkpoints().rbegin()->size_bytes();
  return Forget(run.run_id());
}

StatusOr<std::vector<FaultRow>> FaultBench::Run() {
  std::vector<FaultRow> rows;
  for (const Kind& kind : Kinds()) {
    ASSIGN_OR_RETURN(FaultRow row, Measure(kind));
    rows.push_back(std::move(row));
  }
  return rows;
}

StatusOr<FaultRow> FaultBench::Measure(const Kind& kind) {
  FaultRow row{.fault = kind.name, .ranks = kRanks};
  delays_.clear();
  const int wanted = std::max(options_.kills / kind.share, kind.processes);
  tell_(fmt::format("{}: {} kills", kind.name, wanted));
  int told = 0, unhurt = 0;
  while (row.kills < wanted) {
    ASSIGN_OR_RETURN(const int kills, HurtOneRun(kind, wanted - row.kills, row));
    unhurt = kills == 0 ? unhurt + 1 : 0;
    if (unhurt == kUnhurtMax) {
      return Internal("{} runs in a row ended before '{}' could be tried", unhurt, kind.name);
    }
    row.kills += kills;
    if (row.kills / kKillsTold > told / kKillsTold && row.kills < wanted) {
      tell_(fmt::format("  {} of {}", row.kills, wanted));
    }
    told = row.kills;
  }
  row.next_step_seconds_p50 = Quantile(delays_, 0.5);
  row.next_step_seconds_p99 = Quantile(delays_, 0.99);
  return row;
}

// Returns the number of processes that were killed; 0 when the run ended before its first fault.
StatusOr<int> FaultBench::HurtOneRun(const Kind& kind, int kills_max, FaultRow& row) {
  RETURN_IF_ERROR(service_.StartDeadAgents());
  ASSIGN_OR_RETURN(const v1::Run run, Submit(kRanks));
  std::vector<Fault> faults;
  int kills = 0;
  for (int i = 0; i < kind.faults_per_run && kills < kills_max; ++i) {
    ASSIGN_OR_RETURN(const bool trains, AwaitMoment(run.run_id()));
    if (!trains) break;
    ASSIGN_OR_RETURN(const v1::Run before, client_.Get(run.run_id()));
    const Fault fault{.at_us = clock_.WallNow().time_since_epoch().count(),
                      .ends_epoch = kind.ends_group ? before.epoch() : 0};
    ASSIGN_OR_RETURN(const int killed, (this->*kind.strike)());
    if (killed == 0) break;
    faults.push_back(fault);
    kills += killed;
    if (kind.ends_group) RETURN_IF_ERROR(AwaitNextGroup(run.run_id(), before.epoch()));
  }
  RETURN_IF_ERROR(Account(run.run_id(), faults, row));
  RETURN_IF_ERROR(Forget(run.run_id()));
  return kills;
}

// Waits for a random moment of the run's steps; false if the run ended first.
StatusOr<bool> FaultBench::AwaitMoment(const std::string& run) {
  const auto training = [](const v1::Run& now) {
    return client::IsTerminal(now.state()) ||
           (now.state() == v1::RUN_STATE_RUNNING && now.progress().step() >= kFirstStep);
  };
  ASSIGN_OR_RETURN(v1::Run now, Await(run, training));
  const int64_t step = now.progress().step() + Draw(1, kStepsApart);
  ASSIGN_OR_RETURN(now, Await(run, [&](const v1::Run& later) {
                     return client::IsTerminal(later.state()) || later.progress().step() >= step;
                   }));
  std::this_thread::sleep_for(microseconds(Draw(0, kMomentUs)));
  return !client::IsTerminal(now.state());
}

// Waits until a later group than `epoch` has taken a step, or the run has ended.
Status FaultBench::AwaitNextGroup(const std::string& run, uint64_t epoch) {
  int64_t step = -1;
  return Await(run,
               [&](const v1::Run& now) {
                 if (client::IsTerminal(now.state())) return true;
                 if (now.epoch() <= epoch || now.state() != v1::RUN_STATE_RUNNING) return false;
                 if (step < 0) step = now.progress().step();
                 return now.progress().step() != step;
               })
      .status();
}

Status FaultBench::Account(const std::string& run, const std::vector<Fault>& faults,
                           FaultRow& row) {
  ASSIGN_OR_RETURN(const v1::Run end,
                   Await(run, [](const v1::Run& now) { return client::IsTerminal(now.state()); }));
  if (end.state() != v1::RUN_STATE_SUCCEEDED) {
    return Internal("a run with the fault '{}' did not finish: {}", row.fault, end.reason());
  }
  std::vector<v1::MetricPoint> points;
  v1::MetricsRequest metrics;
  metrics.set_run(run);
  RETURN_IF_ERROR(client_.Metrics(metrics, [&points](const v1::MetricPoint& point) {
    points.push_back(point);
    return true;
  }));
  std::vector<v1::RunEvent> events;
  v1::EventsRequest wanted;
  wanted.set_run(run);
  RETURN_IF_ERROR(client_.Events(wanted, [&events](const v1::RunEvent& event) {
    events.push_back(event);
    return true;
  }));
  for (const Fault& fault : faults) {
    if (const auto seconds = SecondsToNextStep(points, fault)) delays_.push_back(*seconds);
  }
  const StepsRedone redone = CountStepsRedone(points, events);
  row.steps_redone += redone.steps;
  row.checkpoint_bytes_read +=
      static_cast<uint64_t>(redone.from_checkpoint) * kRanks * checkpoint_bytes_;
  row.epochs += static_cast<int64_t>(end.epoch());
  ASSIGN_OR_RETURN(const std::string weights, WeightsOf(run));
  row.weights_equal = row.weights_equal && weights == undisturbed_;
  return OkStatus();
}

StatusOr<int> FaultBench::KillOneRank() {
  const std::vector<int> trainers = service_.Trainers();
  if (trainers.size() < 2) return 0;
  kill(trainers[static_cast<size_t>(Draw(0, static_cast<int>(trainers.size()) - 1))], SIGKILL);
  return 1;
}

StatusOr<int> FaultBench::KillTwoRanks() {
  std::vector<int> trainers = service_.Trainers();
  if (trainers.size() < 3) return 0;
  std::shuffle(trainers.begin(), trainers.end(), random_);
  kill(trainers[0], SIGKILL);
  std::this_thread::sleep_for(microseconds(Draw(0, kTwoWithinUs)));
  kill(trainers[1], SIGKILL);
  return 2;
}

StatusOr<int> FaultBench::KillRankZero() {
  const std::vector<int> trainers = service_.Trainers();
  const auto leader = std::find_if(trainers.begin(), trainers.end(), WritesRecords);
  if (leader == trainers.end() || trainers.size() < 2) return 0;
  kill(*leader, SIGKILL);
  return 1;
}

StatusOr<int> FaultBench::KillAgent() {
  service_.KillAgent(static_cast<size_t>(Draw(0, kAgents - 1)));
  RETURN_IF_ERROR(service_.StartDeadAgents());  // as systemd does
  return 1;
}

StatusOr<int> FaultBench::KillCoordinator() {
  service_.KillCoordinator();
  RETURN_IF_ERROR(service_.StartCoordinator());
  return 1;
}

StatusOr<int> FaultBench::KillAllRanks() {
  const std::vector<int> trainers = service_.Trainers();
  for (const int trainer : trainers) kill(trainer, SIGKILL);
  return static_cast<int>(trainers.size());
}

StatusOr<v1::Run> FaultBench::Submit(int ranks) {
  v1::SubmitRequest request;
  request.set_source(RunFile(options_, ranks));
  request.set_source_name("faults.yaml");
  request.set_base_directory(service_.directory());
  ASSIGN_OR_RETURN(const v1::SubmitResponse response, client_.Submit(std::move(request)));
  return response.run();
}

StatusOr<v1::Run> FaultBench::Await(const std::string& run,
                                    const std::function<bool(const v1::Run&)>& condition) {
  const auto deadline = steady_clock::now() + kRunTimeout;
  while (true) {
    ASSIGN_OR_RETURN(v1::Run now, client_.Get(run));
    if (condition(now)) return now;
    if (steady_clock::now() >= deadline) {
      return DeadlineExceeded("the run is {} after {} min: {}", client::StateName(now.state()),
                              kRunTimeout.count(), now.reason());
    }
    if (interruption_.WaitFor(kPoll)) return Cancelled("interrupted");
  }
}

StatusOr<std::string> FaultBench::WeightsOf(const std::string& run) {
  ASSIGN_OR_RETURN(const v1::CheckpointsResponse sealed, client_.Checkpoints(run));
  if (sealed.checkpoints().empty()) return Internal("run {} has no checkpoint", run);
  return ReadFile(JoinPath(sealed.checkpoints().rbegin()->directory(), "model.safetensors"),
                  uint64_t{1} << 30);
}

// The checkpoints of all runs together would need gigabytes.
Status FaultBench::Forget(const std::string& run) {
  v1::DeleteRunRequest request;
  request.set_run(run);
  return client_.DeleteRun(std::move(request)).status();
}

int FaultBench::Draw(int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(random_);
}

}  // namespace gp::gpctl
