// A lying agent. One node trains a run; another node, with its own run, sends arbitrary reports.
// They must not change the first run or break an invariant, and each message may add only a limited
// amount of state.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "coordinator/control/batch.h"
#include "coordinator/state/invariants.h"

namespace {

using namespace gp;
using namespace gp::coordinator;

const NodeId kHonest("honest");
const NodeId kLiar("liar");
const RunId kVictim("victim");
const RunId kOwn("own");

// Takes numbers from the front of the input; returns zeros once it is used up.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}

  bool empty() const { return data_ == end_; }
  int Next(int count) { return empty() ? 0 : *data_++ % count; }
  // Small, negative and extreme numbers.
  int64_t Number() {
    static constexpr int64_t kNumbers[] = {0, 1, 2, 3, 10, -1, INT64_MAX, INT64_MIN};
    return kNumbers[Next(8)];
  }
  std::string Text() {
    static const std::string kTexts[] = {"",          "a",    "127.0.0.1:1",          "[::1]:2",
                                         "\033[2J\n", "00ff", std::string(3000, 'x'), "/"};
    return kTexts[Next(8)];
  }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

Submission MakeSubmission(const RunId& run) {
  Submission submission;
  submission.name = run.value();
  submission.request_id = run.value();
  submission.run_directory = "/storage/runs/" + run.value();
  submission.retries_max = 3;
  return submission;
}

NodeConnected MakeHello(const NodeId& node) {
  return {.node = node,
          .session = 1,
          .name = node.value(),
          .incarnation = "1",
          .slots = {{SlotId("s"), "cpu", {0}, 1 << 20}}};
}

// A cluster that processes reports.
class Fixture {
 public:
  Fixture() {
    Turn({.body = MakeHello(kHonest)});
    Submit(kVictim);
    Train(kHonest, kVictim);
    Turn({.body = MakeHello(kLiar)});
    Submit(kOwn);
    GP_CHECK(cluster_.FindRun(kVictim)->state == RunState::kRunning);
    GP_CHECK(cluster_.FindRun(kOwn)->placement.at(0).node == kLiar);
  }

  // Processes the event and returns how many events became durable.
  size_t Turn(const Event& event) {
    const Cluster before = cluster_;
    now_.instant += std::chrono::milliseconds(10);
    now_.wall += std::chrono::milliseconds(10);
    Batch batch(before, now_);
    const auto taken = batch.AdmitEvent(event);
    GP_CHECK(taken.ok(), "{}", Message(taken.status()));
    batch.Plan(policy_, [] { return std::string("nonce"); });
    const auto violations = FindViolations(before, batch.after(), batch.touched());
    GP_CHECK(violations.empty(), "{}", violations.front().rule);
    const size_t durable = batch.durable().size();
    cluster_ = batch.TakeAfter();
    return durable;
  }

  const Cluster& cluster() const { return cluster_; }

 private:
  void Submit(const RunId& run) {
    Turn({.run = run, .request_id = run.value(), .body = RunSubmitted{MakeSubmission(run)}});
  }

  void Train(const NodeId& node, const RunId& run) {
    for (const RankPhase phase : {RankPhase::kListening, RankPhase::kReady, RankPhase::kRunning}) {
      RankReport rank{
          .run = run, .epoch = 1, .slot = SlotId("s"), .phase = phase, .address = "h:1"};
      Turn({.body = NodeReported{node, 1, cluster_.last_sequence, {rank}, {}}});
    }
  }

  // Nothing times out during fuzzing, so that all changes come from the reports.
  const Policy policy_{.lease = std::chrono::hours(1), .start_timeout = std::chrono::hours(1)};
  Now now_{.instant = Instant(std::chrono::hours(1))};
  Cluster cluster_;
};

contract::WrittenCheckpoint MakeWritten(Choices& choices) {
  static const std::string kDirectories[] = {"/storage/runs/own/checkpoints/step-00000001-e1-a",
                                             "/storage/runs/own/checkpoints/step-00000002-e1-a",
                                             "/storage/runs/own/checkpoints/..",
                                             "/storage/runs/own/../victim/checkpoints/a",
                                             "/storage/runs/victim/checkpoints/a",
                                             "/storage/runs/own/checkpoints/",
                                             "/",
                                             ""};
  return {.step = choices.Number(),
          .directory = kDirectories[choices.Next(8)],
          .manifest_digest = choices.Text(),
          .size_bytes = static_cast<uint64_t>(choices.Number()),
          .final = choices.Next(2) == 1};
}

RankReport MakeRank(Choices& choices) {
  RankReport rank;
  const RunId kRuns[] = {kOwn, kVictim, RunId("nobody"), RunId("../x")};
  rank.run = kRuns[choices.Next(4)];
  rank.epoch = static_cast<Epoch>(choices.Number());
  rank.rank = static_cast<int>(choices.Number());
  rank.slot = SlotId(choices.Next(2) == 0 ? "s" : choices.Text());
  rank.phase = static_cast<RankPhase>(choices.Next(8));
  rank.address = choices.Text();
  rank.nccl_id = choices.Text();
  rank.step = choices.Number();
  rank.cause = static_cast<ExitCause>(choices.Next(13));
  rank.message = choices.Text();
  rank.waiting = choices.Text();
  for (int i = choices.Next(4); i > 0; --i) rank.written.push_back(MakeWritten(choices));
  return rank;
}

std::vector<RankReport> MakeRanks(Choices& choices) {
  std::vector<RankReport> ranks;
  for (int i = choices.Next(5); i > 0; --i) ranks.push_back(MakeRank(choices));
  return ranks;
}

EventBody MakeLie(Choices& choices) {
  const auto session = static_cast<uint64_t>(choices.Number());
  switch (choices.Next(4)) {
    case 0: {
      NodeConnected hello = MakeHello(kLiar);
      hello.session = session;
      hello.incarnation = choices.Text();
      for (int i = choices.Next(3); i > 0; --i) {
        hello.slots.push_back({SlotId("s" + std::to_string(i)), "cpu", {}, 0});
      }
      hello.ranks = MakeRanks(choices);
      return hello;
    }
    case 1:
      return NodeDisconnected{kLiar, session};
    default:
      return NodeReported{kLiar,
                          1,
                          static_cast<uint64_t>(choices.Number()),
                          MakeRanks(choices),
                          {{SlotId(choices.Text()), choices.Text()}}};
  }
}

void CheckSeals(const Run& run) {
  for (const SealedCheckpoint& sealed : run.checkpoints) {
    GP_CHECK(sealed.directory.starts_with("/storage/runs/own/checkpoints/step-"), "{}",
             sealed.directory);
    GP_CHECK(sealed.step >= 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Fixture start;
  Fixture fixture = start;
  Choices choices(data, std::min<size_t>(size, 1024));
  const auto victim = fixture.cluster().FindRun(kVictim);
  while (!choices.empty()) {
    const size_t durable = fixture.Turn({.actor = "liar", .body = MakeLie(choices)});
    GP_CHECK(durable <= 32, "{}", durable);
    GP_CHECK(fixture.cluster().FindRun(kVictim) == victim, "another node's run changed");
    CheckSeals(*fixture.cluster().FindRun(kOwn));
  }
  return 0;
}
