#include "client/gpctl/screen/scene.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

namespace gp::testing {
namespace {

constexpr int64_t kBegin = 1763716440;
constexpr int64_t kStep = 7362;
constexpr uint64_t kGiB = uint64_t{1} << 30;

double Decay(int64_t step, double steps) { return std::exp(-static_cast<double>(step) / steps); }

double LossAt(int64_t step) { return 3.2 + 7.7 * Decay(step, 180) + 1.1 * Decay(step, 1500); }

double RateAt(int64_t step) {
  return step < 700 ? 6e-4 * static_cast<double>(step) / 700
                    : 6e-4 * (0.55 + 0.45 * std::cos(static_cast<double>(step) / 6000));
}

v1::PhaseSeconds Phases() {
  v1::PhaseSeconds phases;
  phases.set_forward(0.095);
  phases.set_backward(0.19);
  phases.set_allreduce_exposed(0.02);
  phases.set_optimizer(0.01);
  phases.set_data_wait(0.002);
  phases.set_other(0.006);
  return phases;
}

v1::RunEvent Event(int64_t second, const std::string& kind, const std::string& reason) {
  v1::RunEvent event;
  event.mutable_at()->set_seconds(kBegin + second);
  event.set_state(v1::RUN_STATE_RUNNING);
  event.set_kind(kind);
  event.set_actor("scheduler");
  event.set_reason(reason);
  return event;
}

void Place(int rank, const std::string& node, const std::string& slot, v1::Run& run) {
  v1::RankPlacement& placement = *run.add_placement();
  placement.set_rank(rank);
  placement.set_node_id(node);
  placement.set_node_name(node);
  placement.set_slot_id(slot);
}

v1::Run Waiting(const std::string& name, const std::string& id, int place, int workers,
                const std::string& reason) {
  v1::Run run = MakeRun(name, id, v1::RUN_STATE_QUEUED);
  run.clear_started_at();
  run.set_queue_position(place);
  run.set_workers(workers);
  run.set_reason(reason);
  run.set_submitted_by("user ana");
  return run;
}

v1::Node SceneNode(const std::string& name, int slots, const std::string& run_id) {
  v1::Node node;
  node.set_node_id(name);
  node.set_name(name);
  node.set_connected(true);
  node.set_version("0.1.0");
  node.mutable_last_heard_at()->set_seconds(kSceneNow);
  for (int slot = 0; slot < slots; ++slot) {
    v1::Slot& added = *node.add_slots();
    added.set_slot_id(fmt::format("cpu-{}", slot));
    added.set_device("cpu");
    added.set_run_id(run_id);
    if (run_id.empty()) continue;
    added.mutable_use()->set_cores(1.9);
    added.mutable_use()->set_memory_bytes(5 * kGiB / 4);
  }
  v1::MachineLoad& load = *node.mutable_load();
  load.set_cores(2 * slots);
  load.set_runnable_threads(2 * slots);
  load.set_busy_cores(run_id.empty() ? 0.1 : 1.9 * slots);
  load.set_memory_bytes(16 * kGiB);
  load.set_available_memory_bytes(run_id.empty() ? 15 * kGiB : 10 * kGiB);
  load.set_storage_bytes(500 * kGiB);
  load.set_free_storage_bytes(120 * kGiB);
  return node;
}

}  // namespace

v1::Run SceneRun() {
  v1::Run run = MakeRun("gpt2-fineweb", "7f3k2q9a0c", v1::RUN_STATE_RUNNING);
  run.set_workers(4);
  run.set_failures(1);
  run.set_reason("all ranks are training");
  for (int rank = 0; rank < 4; ++rank) {
    Place(rank, rank < 2 ? "node-a" : "node-b", fmt::format("cpu-{}", rank % 2), run);
  }
  run.set_latest_checkpoint_step(7000);
  run.set_best_checkpoint_step(6500);
  v1::Progress& progress = *run.mutable_progress();
  progress.set_step(kStep);
  progress.set_target_steps(19'073);
  progress.set_tokens(3'859'808'256);
  progress.set_loss(ScenePoints().back().loss());
  progress.set_validation_loss(LossAt(7250));
  progress.set_validation_step(7250);
  progress.set_best_validation_loss(LossAt(7250));
  progress.set_best_validation_step(7250);
  progress.set_tokens_per_second(1.62e6);
  progress.set_mfu(0.556);
  progress.set_step_seconds(0.323);
  progress.set_pace_seconds(0.33);
  progress.set_peak_flops(1248e12);
  progress.set_peak_source("table");
  *progress.mutable_phases() = Phases();
  run.mutable_use()->set_cores(7.6);
  run.mutable_use()->set_memory_bytes(5 * kGiB);
  return run;
}

std::vector<v1::MetricPoint> ScenePoints() {
  std::mt19937 bits(1);
  const auto noise = [&bits] { return static_cast<double>(bits() % 2001) / 1000 - 1; };
  std::vector<v1::MetricPoint> points;
  for (int64_t step = 1; step <= kStep; ++step) {
    v1::MetricPoint& point = points.emplace_back();
    point.set_step(step);
    point.set_epoch(2);
    point.set_loss(LossAt(step) + 0.08 * noise());
    point.set_gradient_norm(0.3 + 2 * Decay(step, 300) + 0.05 * std::fabs(noise()));
    point.set_learning_rate(RateAt(step));
    point.set_tokens_per_second(1.62e6 * (1 + 0.03 * noise()));
    point.set_step_seconds(0.323);
    point.set_mfu(0.55);
    if (step % 250 == 0) point.set_validation_loss(LossAt(step));
  }
  return points;
}

std::vector<v1::RunEvent> SceneEvents() {
  return {Event(0, "submitted", "submitted by owner"),
          Event(1, "placed", "4 ranks in slots of node-a and node-b"),
          Event(20, "running", "all ranks are ready"),
          Event(40'000, "rank_failed",
                "rank 2 on node-b: its agent was silent for longer than the lease of 10 s; the run "
                "is started again from step 2,500"),
          Event(40'010, "placed", "4 ranks in slots of node-a and node-b, from step 2,500"),
          Event(90'000, "checkpoint_sealed", "checkpoint of step 6,500 sealed"),
          Event(95'000, "checkpoint_sealed", "checkpoint of step 7,000 sealed")};
}

std::vector<v1::LogLine> SceneLines() {
  std::vector<v1::LogLine> lines;
  const auto add = [&lines](const std::string& text, int rank) {
    v1::LogLine& line = lines.emplace_back();
    line.set_sequence(lines.size());
    line.set_rank(rank);
    line.set_text(text);
    line.mutable_at()->set_seconds(kBegin);
  };
  for (int i = 1; i < 30; ++i) {
    add(fmt::format("2025-11-21T09:41:{:02}.123Z info gp-trainer evaluation step={} loss={:.4f} "
                    "seconds=4.1",
                    i, 250 * i, LossAt(250 * int64_t{i})),
        i % 4);
  }
  add("2025-11-21T09:41:30.001Z info gp-trainer sample step=7250 text=\"The city council has "
      "agreed to a new plan for the river.\\nIt will take five years, said the mayor, and nobody "
      "knows what the water will do until then; the bridge was closed on Monday and the ferry "
      "carries those who must cross.\\n\\nAn old man who sells fish by the landing laughed when he "
      "was asked.\"",
      0);
  return lines;
}

std::vector<v1::Run> OtherSceneRuns() {
  v1::Run sweep = MakeRun("lr-sweep-3", "7f3k2q9a0d", v1::RUN_STATE_RUNNING);
  sweep.set_workers(1);
  Place(0, "node-c", "cpu-0", sweep);
  sweep.mutable_progress()->set_warning("the loss has risen for 200 steps");
  v1::Run saving = MakeRun("shakespeare-char", "7f3k2q9a0e", v1::RUN_STATE_PAUSED);
  saving.set_reason("a user paused the run; its last step 500 is saved");
  return {Waiting("gpt2-350m", "7f3k2q9a0f", 1, 16, "placement: needs 16 slots, 1 free of 6"),
          Waiting("a-name-that-is-much-longer-than-any-column-should-be", "7f3k2q9a0g", 2, 2,
                  "placement: waits for gpt2-350m, which was submitted before"),
          std::move(saving), std::move(sweep)};
}

std::vector<v1::Node> SceneNodes() {
  std::vector<v1::Node> nodes = {SceneNode("node-a", 2, "7f3k2q9a0c"),
                                 SceneNode("node-b", 2, "7f3k2q9a0c"),
                                 SceneNode("node-c", 2, "7f3k2q9a0d"), SceneNode("node-d", 1, "")};
  nodes[2].mutable_slots(1)->clear_run_id();
  nodes[2].mutable_slots(1)->clear_use();
  nodes[3].clear_load();
  nodes[3].mutable_cordon()->set_reason("new disk");
  nodes[3].mutable_cordon()->set_actor("owner");
  nodes[3].mutable_cordon()->mutable_since()->set_seconds(kBegin);
  return nodes;
}

void PlayScene(FakeRunService& service) {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(SystemClock().WallNow().time_since_epoch());
  service.SetClockAhead(std::chrono::seconds(kSceneNow) - now);
  for (const v1::Run& run : OtherSceneRuns()) service.AddRun(run);
  service.AddRun(SceneRun());
  service.SetWatch({SceneRun()});
  for (const v1::MetricPoint& point : ScenePoints()) service.AddPoint(point);
  for (const v1::RunEvent& event : SceneEvents()) service.AddEvent(event);
  for (const v1::LogLine& line : SceneLines()) service.AddLine(line.text(), line.rank());
  for (const v1::Node& node : SceneNodes()) service.AddNode(node);
}

}  // namespace gp::testing
