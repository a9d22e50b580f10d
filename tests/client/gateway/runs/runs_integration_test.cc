// The pages' API with a real coordinator and a real worker, and the fake trainer.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/gateway/runs/runs_server.h"
#include "integration/cluster.h"

namespace gp::gateway {
namespace {

using nlohmann::json;
using testing::Cluster;
using testing::FakeRun;

TEST(RunsIntegration, ALiveRunIsFollowedToItsEndAndOverAKilledCoordinator) {
  Cluster cluster({.trainer = std::getenv("GP_FAKE_TRAINER")});
  ASSERT_TRUE(WriteFileAtomically(cluster.directory() + "/text.txt", "some text\n").ok());
  cluster.StartCoordinator();
  cluster.StartWorker("node-a", {.slots = 2});
  RunsServer server(cluster.address());
  const auto get = [&](const std::string& target) {
    return json::parse(server.Get(target).body, nullptr, false);
  };
  const std::string id = cluster.Submit(
      FakeRun(2, 400, "fake-step-ms: '5'", "checkpoint: {every: 100, keep_last: 2}\n"));
  cluster.WaitForStep(id, 20);
  ASSERT_TRUE(Eventually([&] { return server.Get("/api/v1/runs/" + id).status == 200; }));
  http::HttpClient page(server.port());
  page.Request("GET", "/api/v1/events?run=" + id);
  ASSERT_EQ(page.ReceiveHead().status, 200);
  cluster.coordinator().Kill();
  ASSERT_TRUE(Eventually([&] { return !get("/api/v1/runs")["coordinator"]["connected"]; }));
  EXPECT_EQ(get("/api/v1/runs")["runs"][0]["id"], id) << "what was known stays";
  cluster.StartCoordinator();
  EXPECT_EQ(cluster.WaitForEnd(id).state(), v1::RUN_STATE_SUCCEEDED);

  json points;
  ASSERT_TRUE(Eventually([&] {
    points = get("/api/v1/runs/" + id + "/points?points=5000");
    return points.contains("step") && points["step"].size() == 400;
  })) << points.dump();
  for (size_t i = 0; i < 400; ++i) EXPECT_EQ(points["step"][i], i + 1);
  json run;
  ASSERT_TRUE(Eventually([&] {
    run = get("/api/v1/runs/" + id);
    return run["run"]["state"] == "succeeded" && run["checkpoints"].size() == 2;
  })) << run.dump();
  EXPECT_EQ(run["checkpoints"][1]["step"], 400);
  EXPECT_EQ(run["checkpoints"][1]["latest"], true);
  EXPECT_FALSE(run["events"].empty());
  EXPECT_EQ(get("/api/v1/workers")["workers"][0]["slots"].size(), 2u);
  ASSERT_TRUE(Eventually([&] {
    const auto board = server.api().board().board();
    return board->sealed.size() == 1 && board->sealed[0].checkpoints.size() == 2;
  }));

  // The page's stream survives all of it and reports the end.
  bool ended = false;
  while (!ended) {
    const auto event = page.NextEvent();
    ASSERT_TRUE(event.has_value());
    const json message = json::parse(*event);
    ended = message["type"] == "runs" && message["runs"][0]["state"] == "succeeded";
  }
}

}  // namespace
}  // namespace gp::gateway
