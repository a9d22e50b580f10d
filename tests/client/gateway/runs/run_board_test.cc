// RunBoard against a fake coordinator.
#include "client/gateway/runs/run_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "client/fake_run_service.h"
#include "lib/base/eventually.h"

namespace gp::gateway {
namespace {

using testing::FakeRunService;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeRun;
using ::testing::SizeIs;

constexpr char kId[] = "aaaaaaaa01";

RunBoardOptions Fast(const std::string& address) {
  return {.address = address,
          .survey_pause = std::chrono::milliseconds(10),
          .idle_pause = std::chrono::milliseconds(10),
          .follow_pause = std::chrono::milliseconds(10),
          .timeout = kPatience};
}

v1::MetricPoint MakePoint(int64_t step, uint64_t epoch = 1) {
  v1::MetricPoint point;
  point.set_step(step);
  point.set_epoch(epoch);
  point.set_loss(4);
  return point;
}

v1::Checkpoint MakeCheckpoint(int64_t step) {
  v1::Checkpoint checkpoint;
  checkpoint.set_run_id(kId);
  checkpoint.set_step(step);
  checkpoint.set_directory("/c/" + std::to_string(step));
  checkpoint.set_manifest_digest("d" + std::to_string(step));
  return checkpoint;
}

class RunBoardTest : public ::testing::Test {
 protected:
  bool Sees(const RunBoard& board, const std::function<bool(const Board&)>& condition) {
    return Eventually([&] { return condition(*board.board()); });
  }
  // The details of the run once they satisfy `condition`.
  std::shared_ptr<const RunDetails> Details(
      RunBoard& board, const std::function<bool(const RunDetails&)>& condition) {
    std::shared_ptr<const RunDetails> found;
    board.LookAt(kId);
    EXPECT_TRUE(Sees(board, [&](const Board& now) {
      const auto at = now.details.find(kId);
      if (at == now.details.end() || !condition(*at->second)) return false;
      found = at->second;
      return true;
    }));
    return found;
  }

  FakeRunService service_;
};

TEST_F(RunBoardTest, ShowsRunsWorkersAndSealedCheckpoints) {
  v1::Run run = MakeRun("demo", kId, v1::RUN_STATE_SUCCEEDED);
  run.set_latest_checkpoint_step(200);
  service_.AddRun(MakeRun("bare", "aaaaaaaa00", v1::RUN_STATE_FAILED));
  service_.AddRun(run);
  service_.AddNode({});
  service_.AddCheckpoint(MakeCheckpoint(100));
  service_.AddCheckpoint(MakeCheckpoint(200));
  RunBoard board(Fast(service_.address()), [] {});
  ASSERT_TRUE(Sees(board, [](const Board& now) { return now.connected && !now.sealed.empty(); }));
  const auto now = board.board();
  EXPECT_EQ(now->runs[0].name(), "demo") << "newest first";
  EXPECT_THAT(now->nodes, SizeIs(1));
  ASSERT_THAT(now->sealed, SizeIs(1)) << "a run without a checkpoint is no model";
  EXPECT_EQ(now->sealed[0].id, kId);
  ASSERT_THAT(now->sealed[0].checkpoints, SizeIs(2));
  EXPECT_EQ(now->sealed[0].checkpoints[1].directory, "/c/200");
  EXPECT_EQ(now->sealed[0].checkpoints[1].manifest_digest, "d200");
  EXPECT_THAT(*now->runs_text, HasSubstr("\"connected\":true"));
}

TEST_F(RunBoardTest, ANewCheckpointAppearsAndNothingChangesWithoutNews) {
  v1::Run run = MakeRun("demo", kId, v1::RUN_STATE_RUNNING);
  run.set_latest_checkpoint_step(100);
  service_.AddRun(run);
  service_.AddCheckpoint(MakeCheckpoint(100));
  RunBoard board(Fast(service_.address()), [] {});
  ASSERT_TRUE(Sees(board, [](const Board& now) { return now.sealed.size() == 1; }));
  const uint64_t before = board.board()->sealed_version;
  service_.AddCheckpoint(MakeCheckpoint(200));
  run.set_latest_checkpoint_step(200);
  service_.AddRun(run);
  ASSERT_TRUE(Sees(board, [](const Board& now) { return now.sealed[0].checkpoints.size() == 2; }));
  EXPECT_EQ(board.board()->sealed_version, before + 1);
}

TEST_F(RunBoardTest, GoesOnWithWhatItKnowsWhenTheCoordinatorIsGone) {
  service_.AddRun(MakeRun("demo", kId, v1::RUN_STATE_RUNNING));
  RunBoardOptions options = Fast(service_.address());
  options.timeout =
      std::chrono::milliseconds(300);  // time until it reports that the coordinator does not answer
  RunBoard board(options, [] {});
  ASSERT_TRUE(Sees(board, [](const Board& now) { return now.connected; }));
  service_.FailNext(1'000'000);
  ASSERT_TRUE(Sees(board, [](const Board& now) { return !now.connected; }));
  const auto gone = board.board();
  EXPECT_THAT(gone->runs, SizeIs(1));
  EXPECT_EQ(gone->message, "the coordinator at " + service_.address() + " cannot be reached");
  EXPECT_THAT(*gone->runs_text, HasSubstr("\"connected\":false"));
  service_.FailNext(0);
  EXPECT_TRUE(Sees(board, [](const Board& now) { return now.connected; }));
}

TEST_F(RunBoardTest, WithoutACoordinatorItIsEmptyAndSaysSo) {
  RunBoard board({}, [] {});
  EXPECT_FALSE(board.board()->connected);
  EXPECT_THAT(board.board()->message, HasSubstr("started without one"));
  EXPECT_THAT(*board.board()->runs_text, HasSubstr("\"runs\":[]"));
  board.LookAt(kId);
  EXPECT_FALSE(board.Points(kId, {}).has_value());
}

TEST_F(RunBoardTest, ALookedAtRunHasItsPastAndThenWhatComes) {
  service_.AddRun(MakeRun("demo", kId, v1::RUN_STATE_RUNNING));
  for (int step = 1; step <= 300; ++step) service_.AddPoint(MakePoint(step));
  service_.AddEvent(v1::RUN_STATE_QUEUED, "submitted", "by a user");
  std::atomic<int> changes = 0;
  RunBoard board(Fast(service_.address()), [&] { ++changes; });
  const auto details = Details(board, [](const RunDetails&) { return true; });
  ASSERT_NE(details, nullptr);
  EXPECT_THAT(details->events, SizeIs(1));
  const auto past = board.Points(kId, {.count_max = 1000});
  ASSERT_TRUE(past.has_value());
  EXPECT_THAT(past->points, SizeIs(300)) << "details are there once all of the past is";
  service_.AddPoint(MakePoint(301));
  service_.AddEvent(v1::RUN_STATE_RUNNING, "run_started", "all ranks are ready");
  EXPECT_TRUE(Eventually([&] { return board.PointsAfter(kId, 300, 10)->points.size() == 1; }));
  Details(board, [](const RunDetails& now) { return now.events.size() == 2; });
  // A later epoch repeats steps from 250 on.
  service_.AddPoint(MakePoint(250, 2));
  EXPECT_TRUE(Eventually([&] { return board.Points(kId, {})->total == 250; }));
  EXPECT_GT(changes, 2);
}

TEST_F(RunBoardTest, AStreamThatBreaksIsResumedWithoutGapOrDuplicate) {
  service_.AddRun(MakeRun("demo", kId, v1::RUN_STATE_RUNNING));
  for (int step = 1; step <= 50; ++step) service_.AddPoint(MakePoint(step));
  service_.BreakStreamAfter(20);
  RunBoard board(Fast(service_.address()), [] {});
  ASSERT_NE(Details(board, [](const RunDetails&) { return true; }), nullptr);
  const auto points = board.Points(kId, {});
  ASSERT_THAT(points->points, SizeIs(50));
  EXPECT_EQ(points->appended, 50u);
}

TEST_F(RunBoardTest, SamplesComeFromTheRunsFileElseFromTheLogOfRankZero) {
  std::string pattern = (std::filesystem::temp_directory_path() / "board-XXXXXX").string();
  const std::string directory = mkdtemp(pattern.data());
  v1::Run run = MakeRun("demo", kId, v1::RUN_STATE_RUNNING);
  run.set_run_directory(directory);
  service_.AddRun(run);
  service_.AddLine("sample step=100 text=\"from the log\"", 0);
  service_.AddLine("sample step=200 text=\"of another rank\"", 1);
  RunBoard board(Fast(service_.address()), [] {});
  const auto logged = Details(board, [](const RunDetails& now) { return !now.samples.empty(); });
  ASSERT_THAT(logged->samples, SizeIs(1));
  EXPECT_EQ(logged->samples[0].text, "from the log");
  std::ofstream(directory + "/samples.jsonl")
      << R"({"step": 300, "text": "from the file"})" << std::endl;
  Details(board, [](const RunDetails& now) {
    return !now.samples.empty() && now.samples.back().text == "from the file";
  });
  std::filesystem::remove_all(directory);
}

TEST_F(RunBoardTest, ManyRunsAreFollowedWithinALimit) {
  for (int i = 0; i < 40; ++i) {
    service_.AddRun(MakeRun("r", "run" + std::to_string(i), v1::RUN_STATE_SUCCEEDED));
  }
  RunBoardOptions options = Fast(service_.address());
  options.followed_max = 5;
  RunBoard board(options, [] {});
  ASSERT_TRUE(Sees(board, [](const Board& now) { return now.runs.size() == 40; }));
  EXPECT_THAT(board.board()->details, IsEmpty()) << "nobody looked";
  for (int i = 0; i < 40; ++i) board.LookAt("run" + std::to_string(i));
  EXPECT_TRUE(Sees(board, [](const Board& now) {
    return now.details.size() == 5 && now.details.contains("run39");
  }));
}

// If there are too many runs to serve, the newest ones and those that train must be kept.
// Case gateway-and-pages/08: runs after the first 1000 were not served.
TEST_F(RunBoardTest, CheckpointsOfTheNewestAndOfLiveRunsAreKnownWhenThereAreTooManyRuns) {
  const auto add = [&](int number, v1::RunState state) {
    v1::Run run = MakeRun(fmt::format("r{}", number), fmt::format("id{:08}", number), state);
    run.mutable_submitted_at()->set_seconds(1'000'000 + number);
    run.set_latest_checkpoint_step(100);
    service_.AddRun(run);
  };
  service_.AddCheckpoint(MakeCheckpoint(100));
  add(0, v1::RUN_STATE_RUNNING);
  for (int number = 1; number < 1200; ++number) add(number, v1::RUN_STATE_SUCCEEDED);
  RunBoard board(Fast(service_.address()), [] {});
  ASSERT_TRUE(Sees(board, [](const Board& now) { return now.sealed.size() == 1000; }));
  add(1200, v1::RUN_STATE_SUCCEEDED);
  ASSERT_TRUE(Sees(board, [](const Board& now) { return now.sealed[0].name == "r1200"; }));
  const auto now = board.board();
  EXPECT_THAT(now->sealed, SizeIs(1000));
  EXPECT_EQ(now->sealed.back().name, "r0") << "the oldest run trains";
}

// Before, 70 runs took three surveys with pauses, and of two runs with one name the older one was
// known first.
TEST_F(RunBoardTest, AllCheckpointsAreAskedForWithoutAPauseTheNewestRunsFirst) {
  for (int number = 0; number < 120; ++number) {
    const bool is_twin = number == 0 || number == 119;
    v1::Run run = MakeRun(is_twin ? "twin" : fmt::format("r{}", number),
                          fmt::format("id{:08}", number), v1::RUN_STATE_SUCCEEDED);
    run.mutable_submitted_at()->set_seconds(1'000'000 + number);
    run.set_latest_checkpoint_step(100);
    service_.AddRun(run);
  }
  service_.AddCheckpoint(MakeCheckpoint(100));
  RunBoardOptions options = Fast(service_.address());
  options.survey_pause = options.idle_pause = std::chrono::hours(1);
  Mutex mutex;
  std::vector<std::shared_ptr<const Board>> seen;
  std::optional<RunBoard> board;
  {
    MutexLock lock(mutex);
    board.emplace(options, [&] {
      MutexLock inner(mutex);
      seen.push_back(board->board());
    });
  }
  ASSERT_TRUE(Sees(*board, [](const Board& now) { return now.sealed_complete; }));
  EXPECT_THAT(board->board()->sealed, SizeIs(120));
  board.reset();
  ASSERT_GE(seen.size(), 2u) << "one survey asks for a part of them";
  for (const auto& now : seen) {
    if (now->sealed.empty()) continue;
    EXPECT_EQ(now->sealed[0].id, "id00000119");
    EXPECT_EQ(now->sealed_complete, now->sealed.size() == 120);
  }
}

// Case gateway-and-pages/09: a running run was hidden by 100 waiting ones.
TEST_F(RunBoardTest, ARunBehindALongQueueIsServedAndOnTheBoardWhileItRunsAndAfter) {
  v1::Run busy = MakeRun("busy", kId, v1::RUN_STATE_RUNNING);
  busy.set_latest_checkpoint_step(100);
  service_.AddRun(busy);
  service_.AddCheckpoint(MakeCheckpoint(100));
  for (int i = 0; i < 1200; ++i) {
    service_.AddRun(MakeRun("sweep", fmt::format("q{:09}", i), v1::RUN_STATE_QUEUED));
  }
  RunBoard board(Fast(service_.address()), [] {});
  ASSERT_TRUE(Sees(board, [](const Board& now) { return now.sealed.size() == 1; }));
  EXPECT_EQ(board.board()->runs[0].name(), "busy");
  EXPECT_THAT(board.board()->runs, SizeIs(100));
  EXPECT_FALSE(board.board()->has_all_runs);
  EXPECT_EQ(board.board()->total, 1201);
  EXPECT_EQ(board.board()->counts.at(v1::RUN_STATE_QUEUED), 1200);
  board.LookAt(kId);
  v1::Run late = MakeRun("late", "aaaaaaaa02", v1::RUN_STATE_SUCCEEDED);
  late.set_latest_checkpoint_step(100);
  service_.AddRun(late);
  v1::Checkpoint of_late = MakeCheckpoint(100);
  of_late.set_run_id(late.run_id());
  service_.AddCheckpoint(of_late);
  busy.set_state(v1::RUN_STATE_SUCCEEDED);
  service_.AddRun(busy);
  ASSERT_TRUE(Sees(board, [](const Board& now) { return now.sealed.size() == 2; }));
  EXPECT_TRUE(Sees(board, [](const Board& now) {
    return now.runs[0].name() == "sweep" && FindRun(now, kId) != nullptr;
  })) << "somebody looks at it";
}

TEST_F(RunBoardTest, ItEndsAtOnceThoughTheCoordinatorHangs) {
  service_.FailNext(1'000'000);
  const auto begin = std::chrono::steady_clock::now();
  {
    RunBoard board(Fast(service_.address()), [] {});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kPatience / 2);
}

}  // namespace
}  // namespace gp::gateway
