// Fabricates the points of a long run, and measures how fast the coordinator's code reads curves
// from them. Prints JSON.
//
//     curves_rate DIRECTORY COUNT        writes COUNT points into DIRECTORY/points.log
//     curves_rate DIRECTORY              reads them: loss, reduced and whole
//
// For a measurement with all parts, DIRECTORY is <coordinator's state dir>/runs/<run id> of an
// ended run, while its service is stopped; then: time gpctl plot RUN -o a.svg.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "coordinator/telemetry/curve_reader.h"
#include "coordinator/telemetry/run_log.h"

namespace gp::coordinator {
namespace {

constexpr int64_t kBatch = 10'000;

[[noreturn]] void Fail(const Status& status) {
  fmt::print(stderr, "curves_rate: {}\n", Message(status));
  std::exit(1);
}

// A point with every field that a run on CPUs has.
contract::TrainingPoint PointAt(int64_t step, int64_t steps) {
  const double share = static_cast<double>(step) / static_cast<double>(steps);
  contract::TrainingPoint point;
  point.step = step;
  point.tokens = step * 524'288;
  point.loss = 2.8 + 8.2 * std::exp(-30 * share) + 0.05 * std::sin(static_cast<double>(step) * 1.7);
  point.learning_rate = 6e-4 * 0.5 * (1 + std::cos(share * 3.14159));
  point.gradient_norm = 0.3 + 0.1 * std::cos(static_cast<double>(step) * 0.9);
  point.step_seconds = 0.32;
  point.tokens_per_second = 524'288 / point.step_seconds;
  point.mfu = 0.55;
  if (step % 1000 == 0) point.validation_loss = point.loss + 0.02;
  point.epoch = 1;
  point.phases = {.data_wait = 0.001,
                  .forward = 0.1,
                  .backward = 0.18,
                  .allreduce_exposed = 0.01,
                  .optimizer = 0.02,
                  .other = 0.009};
  point.peak_flops = 3e14;
  point.peak_source = "measured";
  point.target_steps = steps;
  point.at_us = 1'700'000'000'000'000 + step * 320'000;
  return point;
}

void Write(const std::string& directory, int64_t count) {
  for (const char* name : {"points.log", "summary"}) {
    std::filesystem::remove(std::filesystem::path(directory) / name);
  }
  auto log = RunLog::Open(directory, {.points_bytes_max = uint64_t{1} << 40});
  if (!log.ok()) Fail(log.status());
  std::vector<contract::TrainingPoint> points;
  for (int64_t step = 1; step <= count; ++step) {
    points.push_back(PointAt(step, count));
    if (step % kBatch != 0 && step != count) continue;
    if (const Status appended = log->AppendPoints(points); !appended.ok()) Fail(appended);
    points.clear();
  }
  if (const Status synced = log->Sync(); !synced.ok()) Fail(synced);
  if (const Status saved = log->SaveSummary(); !saved.ok()) Fail(saved);
}

void Read(const std::string& directory, int points_max) {
  const auto begin = std::chrono::steady_clock::now();
  const auto progress = ReadProgress(directory);
  if (!progress.ok()) Fail(progress.status());
  auto reader = CurveReader::Make(directory, progress->epochs, {{"loss"}, points_max});
  if (!reader.ok()) Fail(reader.status());
  size_t points = 0;
  double longest = 0;  // of one turn of the worker
  while (!reader->complete()) {
    const auto turn = std::chrono::steady_clock::now();
    const auto pages = reader->Read();
    if (!pages.ok()) Fail(pages.status());
    for (const CurvePage& page : *pages) points += page.points.size();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - turn;
    longest = std::max(longest, seconds.count());
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print(
      "{{\"points_max\": {}, \"points\": {}, \"seconds\": {:.3f}, \"longest_turn_seconds\": "
      "{:.4f}}}\n",
      points_max, points, seconds.count(), longest);
}

}  // namespace
}  // namespace gp::coordinator

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: curves_rate DIRECTORY [COUNT]\n");
    return 2;
  }
  if (argc == 3) {
    gp::coordinator::Write(argv[1], std::stoll(argv[2]));
    return 0;
  }
  gp::coordinator::Read(argv[1], 1800);
  gp::coordinator::Read(argv[1], 0);
  return 0;
}
