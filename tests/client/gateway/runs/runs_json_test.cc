#include "client/gateway/runs/runs_json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "client/fake_run_service.h"
#include "client/gpctl/golden.h"

namespace gp::gateway {
namespace {

using testing::MakeRun;

void ExpectJson(const std::string& name, const Json& json) {
  testing::ExpectGoldenFile("tests/client/gateway/runs/golden/" + name, json.dump(1) + "\n");
}

Board MakeBoard() {
  Board board{.address = "unix:/srv/gp/coordinator.sock", .connected = true};
  v1::Run running = MakeRun("demo", "aaaaaaaa03", v1::RUN_STATE_RUNNING);
  running.set_latest_checkpoint_step(500);
  running.set_best_checkpoint_step(250);
  running.mutable_progress()->set_validation_loss(2.1);
  v1::NewestScore& score = *running.mutable_progress()->add_scores();
  score.set_name("val_bpb");
  score.set_value(2.5);
  running.mutable_progress()->set_warning("the loss rose");
  v1::RankPlacement& rank = *running.add_placement();
  rank.set_node_name("laptop");
  rank.set_slot_id("cpu0");
  v1::Run late = MakeRun("late", "aaaaaaaa02", v1::RUN_STATE_QUEUED);
  late.mutable_submitted_at()->set_seconds(1763716500);
  late.clear_started_at();
  v1::Run early = MakeRun("early", "aaaaaaaa01", v1::RUN_STATE_QUEUED);
  v1::Run ended = MakeRun("old", "aaaaaaaa00", v1::RUN_STATE_FAILED);
  ended.mutable_progress()->set_loss(NAN);
  running.set_submitted_by("user ann");
  running.set_initial_model("base@250");
  (*running.mutable_labels())["team"] = "research";
  running.set_note("a lower rate");
  early.set_queue_position(1);
  late.set_queue_position(2);
  board.runs = {running, late, early, ended};
  board.total = 1234;
  board.counts = {{v1::RUN_STATE_RUNNING, 1}, {v1::RUN_STATE_QUEUED, 120}};
  return board;
}

v1::Node MakeNode() {
  v1::Node node;
  node.set_node_id("n1");
  node.set_name("laptop");
  node.set_connected(true);
  node.set_version("0.1.0");
  node.mutable_last_heard_at()->set_seconds(1763716441);
  node.mutable_last_heard_at()->set_nanos(500'000'000);
  node.set_gpu_problem("the driver does not match its library");
  v1::Slot& busy = *node.add_slots();
  busy.set_slot_id("cpu0");
  busy.set_device("cpu");
  for (int core = 0; core < 4; ++core) busy.add_cores(core);
  busy.set_memory_bytes(8ull << 30);
  busy.set_run_id("aaaaaaaa03");
  v1::Slot& gone = *node.add_slots();
  gone.set_slot_id("gpu0");
  gone.set_device("GPU-1");
  gone.set_device_name("NVIDIA H100");
  gone.set_problem("it left the bus");
  gone.set_run_id("zzzzzzzz99");
  return node;
}

RunDetails MakeDetails(const v1::Run& run) {
  RunDetails details{.run = run};
  details.run.set_resolved("model:\n  preset: tiny\n");
  v1::Checkpoint best;
  best.set_step(250);
  best.set_epoch(1);
  best.set_size_bytes(123456);
  best.set_validation_loss(2.25);
  best.mutable_sealed_at()->set_seconds(1763716450);
  best.set_best(true);
  v1::Checkpoint held = best;
  held.set_step(100);
  held.set_best(false);
  held.clear_validation_loss();
  held.set_quarantine_reason("a digest differs");
  held.mutable_quarantined_at()->set_seconds(1763716460);
  details.checkpoints = {best, held};
  v1::RunEvent event;
  event.set_sequence(7);
  event.mutable_at()->set_seconds(1763716440);
  event.set_state(v1::RUN_STATE_RUNNING);
  event.set_kind("checkpoint_sealed");
  event.set_actor("node laptop");
  event.set_reason("step 250");
  event.set_epoch(1);
  details.events = {event};
  details.samples = {{250, "Once \"upon\"\na time \xff"}};
  return details;
}

TEST(RunsJson, RunsCarryProgressQueuePositionsAndNullForWhatIsAbsent) {
  ExpectJson("runs.json", RunsDocument(MakeBoard()));
}

TEST(RunsJson, ACoordinatorThatIsGoneIsSaid) {
  const Board board{.address = "node-1:7070", .message = "it cannot be reached"};
  EXPECT_EQ(Text(RunsDocument(board)),
            R"({"coordinator":{"connected":false,"address":"node-1:7070",)"
            R"("message":"it cannot be reached"},"runs":[],"total":null,"counts":{}})");
}

TEST(RunsJson, APageOfTheListSaysHowManyRunsThereAreAndWhereTheNextOneBegins) {
  v1::ListResponse page;
  *page.add_runs() = MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_FAILED);
  page.set_next_page_token("there");
  page.set_total(0);
  v1::StateCount& failed = *page.add_state_counts();
  failed.set_state(v1::RUN_STATE_FAILED);
  failed.set_runs(7);
  const Json json = RunsDocument({.connected = true}, page);
  EXPECT_EQ(json["runs"][0]["id"], "aaaaaaaa01");
  EXPECT_EQ(json["total"], 0);
  EXPECT_EQ(Text(json["counts"]), R"({"failed":7})");
  EXPECT_EQ(json["next_page_token"], "there");
  EXPECT_TRUE(RunsDocument({}, v1::ListResponse())["next_page_token"].is_null());
}

TEST(RunsJson, WorkersNameTheRunsInTheirSlotsAndTheirProblems) {
  Board board = MakeBoard();
  board.nodes = {MakeNode()};
  ExpectJson("workers.json", WorkersDocument(board));
}

TEST(RunsJson, WhatIsUsedIsThereIfItIsKnown) {
  Board board = MakeBoard();
  board.nodes = {MakeNode()};
  Json worker = WorkersDocument(board)["workers"][0];
  EXPECT_FALSE(worker.contains("load"));
  EXPECT_FALSE(worker["slots"][0].contains("use"));
  v1::Node& node = board.nodes[0];
  node.mutable_load()->set_cores(4);
  node.mutable_load()->set_memory_bytes(16);
  node.mutable_load()->set_available_memory_bytes(4);
  node.mutable_load()->set_busy_cores(-1);
  node.mutable_slots(0)->mutable_use()->set_cores(1.5);
  node.mutable_slots(0)->mutable_use()->set_memory_bytes(7);
  worker = WorkersDocument(board)["workers"][0];
  EXPECT_EQ(worker["load"], Json::parse(R"({"cores": 4, "busy_cores": null, "memory_bytes": 16,
      "available_memory_bytes": 4, "storage_bytes": null, "free_storage_bytes": null})"));
  EXPECT_EQ(worker["slots"][0]["use"], Json::parse(R"({"cores": 1.5, "memory_bytes": 7})"));
  board.runs[0].mutable_use()->set_cores(3);
  EXPECT_EQ(RunsDocument(board)["runs"][0]["use"]["cores"], 3);
}

TEST(RunsJson, ARunHasItsCheckpointsEventsAndSamples) {
  const Board board = MakeBoard();
  const Json json =
      Json::parse(Text(RunDocument(board, MakeDetails(board.runs[0]), {"demo", {250, 100}})));
  ExpectJson("run.json", json);
}

// The catalogue decides which run has a name; the board does not see --model NAME=DIR.
TEST(RunsJson, ModelsOfARunGoByTheNamesOfTheCatalogueAndAreNullWhereNoneIsServed) {
  const Board board = MakeBoard();
  const RunDetails details = MakeDetails(board.runs[0]);
  const Json taken = RunDocument(board, details, {"aaaaaaaa03", {250, 100}});
  EXPECT_EQ(taken["run"]["model"], "aaaaaaaa03");
  EXPECT_EQ(taken["checkpoints"][0]["model"], "aaaaaaaa03@250");
  EXPECT_TRUE(RunDocument(board, details, {"demo", {100}})["checkpoints"][0]["model"].is_null());
  const Json none = RunDocument(board, details, {});
  EXPECT_TRUE(none["run"]["model"].is_null());
  EXPECT_TRUE(none["checkpoints"][0]["model"].is_null());
}

TEST(RunsJson, PointsAreColumnsOfShortNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Point> points = {
      CompactPoint({.step = 1,
                    .tokens = 1024,
                    .loss = 4.1,
                    .learning_rate = 1e-5,
                    .gradient_norm = nan,
                    .tokens_per_second = 2048,
                    .step_seconds = 0.5,
                    .at_us = 1'763'716'440'250'000}),
      CompactPoint({.step = 2,
                    .tokens = 2048,
                    .loss = -infinity,
                    .learning_rate = infinity,
                    .gradient_norm = 1.5,
                    .tokens_per_second = nan,
                    .mfu = 0.31,
                    .step_seconds = 0.25,
                    .validation_loss = nan,
                    .scores = {{"val_bpb", nan}, {"quiz/completion/acc", 0.5}},
                    .at_us = 1'763'716'441'000'000})};
  const std::string columns =
      R"("step":[1,2],"at":[1763716440.25,1763716441],"tokens":[1024,2048],"loss":[4.1,"-inf"],)"
      R"("learning_rate":[1e-05,"inf"],"gradient_norm":["nan",1.5],)"
      R"("tokens_per_second":[2048,"nan"],"mfu":[null,0.31],)"
      R"("step_seconds":[0.5,0.25],"validation_loss":[null,"nan"],)"
      R"("scores":[null,{"quiz/completion/acc":0.5,"val_bpb":"nan"}])";
  EXPECT_EQ(PointsText("r\"1", 9, points), R"({"run":"r\"1","total":9,)" + columns + "}");
  EXPECT_EQ(PointsMessageText("r1", points),
            R"({"type":"points","run":"r1","points":{)" + columns + "}}");
  EXPECT_TRUE(Json::accept(PointsText("r1", 0, {})));
}

TEST(RunsJson, DifferencesNameTheRunsAndTheirValues) {
  v1::Run one = MakeRun("one", "aaaaaaaa01", v1::RUN_STATE_FAILED);
  one.set_resolved("seed: 1\noptimizer:\n  lr: 0.001\n");
  v1::Run other = MakeRun("other", "aaaaaaaa02", v1::RUN_STATE_FAILED);
  other.set_resolved("seed: 1\noptimizer:\n  lr: 0.01\ntrain: []\n");
  EXPECT_EQ(Text(*DifferencesDocument(std::vector{one, other})),
            R"({"runs":[{"id":"aaaaaaaa01","name":"one"},{"id":"aaaaaaaa02","name":"other"}],)"
            R"("keys":[{"key":"optimizer.lr","values":["0.001","0.01"]},)"
            R"({"key":"train","values":[null,"[]"]}]})");
}

TEST(RunsJson, AMessageIsItsDocumentWithAType) {
  EXPECT_EQ(MessageText("workers", WorkersDocument(Board())), R"({"type":"workers","workers":[]})");
}

TEST(RunsJson, ARunIsFoundByIdAndElseTheNewestOfItsName) {
  Board board;
  board.runs = {MakeRun("a", "2", v1::RUN_STATE_RUNNING), MakeRun("a", "1", v1::RUN_STATE_FAILED),
                MakeRun("1", "0", v1::RUN_STATE_FAILED)};
  EXPECT_EQ(FindRun(board, "a"), &board.runs[0]);
  EXPECT_EQ(FindRun(board, "1"), &board.runs[1]);
  EXPECT_EQ(FindRun(board, "b"), nullptr);
}

}  // namespace
}  // namespace gp::gateway
