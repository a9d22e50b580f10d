// The routes over HTTP, against a fake coordinator.
#include "client/gateway/runs/runs_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <nlohmann/json.hpp>
#include <set>

#include "client/api/sample_sweep.h"
#include "client/fake_run_service.h"
#include "client/gateway/runs/runs_json.h"
#include "client/gateway/runs/runs_server.h"
#include "gp/v1/sweep_service.grpc.pb.h"
#include "lib/base/eventually.h"
#include "lib/http/in_loop.h"

namespace gp::gateway {
namespace {

using nlohmann::json;
using testing::FakeRunService;
using testing::MakeRun;

constexpr char kId[] = "aaaaaaaa01";

v1::MetricPoint MakeStep(int64_t step) {
  v1::MetricPoint point;
  point.set_step(step);
  point.set_epoch(1);
  point.set_loss(step == 40 ? 9 : 2);
  return point;
}

class RunsApiTest : public ::testing::Test {
 protected:
  RunsApiTest() {
    service_.AddRun(MakeRun("demo", kId, v1::RUN_STATE_RUNNING));
    service_.AddNode({});
    for (int step = 1; step <= 200; ++step) service_.AddPoint(MakeStep(step));
    service_.AddEvent(v1::RUN_STATE_RUNNING, "run_started", "all ranks are ready");
  }

  void AwaitBoard(RunsServer& server) {
    ASSERT_TRUE(Eventually([&] { return server.api().board().board()->connected; }));
  }
  // The next message of this type; the test fails when the stream ends before.
  json Next(http::HttpClient& client, const std::string& type) {
    while (const auto event = client.NextEvent()) {
      const json message = json::parse(*event);
      if (message["type"] == type) return message;
    }
    ADD_FAILURE() << "no message of type " << type;
    return {};
  }

  // Changes the list that every page is sent; it has about a megabyte.
  void Change(int version) {
    v1::Run run = MakeRun("demo", kId, v1::RUN_STATE_RUNNING);
    run.set_reason(std::to_string(version) + std::string(1 << 20, 'x'));
    service_.AddRun(run);
  }
  static int VersionIn(const json& runs) {
    return std::atoi(runs["runs"][0].value("reason", "").c_str());
  }

  FakeRunService service_;
};

TEST_F(RunsApiTest, RunsAndWorkersAreAnsweredFromTheBoard) {
  RunsServer server(service_.address());
  AwaitBoard(server);
  const http::Answer runs = server.Get("/api/v1/runs");
  EXPECT_EQ(runs.status, 200);
  EXPECT_EQ(runs.Header("cache-control"), "no-store");
  EXPECT_EQ(json::parse(runs.body)["runs"][0]["name"], "demo");
  EXPECT_EQ(json::parse(server.Get("/api/v1/workers").body)["workers"].size(), 1u);
}

TEST_F(RunsApiTest, ARunAndItsPointsAreAnsweredOnceItsPastIsKnown) {
  RunsServer server(service_.address());
  AwaitBoard(server);
  const json run = json::parse(server.Get("/api/v1/runs/demo").body);
  EXPECT_EQ(run["run"]["id"], kId);
  EXPECT_EQ(run["events"][0]["kind"], "run_started");
  const json points = json::parse(server.Get("/api/v1/runs/" + std::string(kId) + "/points").body);
  EXPECT_EQ(points["total"], 200);
  EXPECT_EQ(points["step"].size(), 200u);
  const json few = json::parse(server.Get("/api/v1/runs/demo/points?points=50&from=11").body);
  EXPECT_LE(few["step"].size(), 50u);
  EXPECT_EQ(few["step"][0], 11);
  EXPECT_EQ(*std::max_element(few["loss"].begin(), few["loss"].end()), 9);
}

TEST_F(RunsApiTest, MoreRunsComeInPagesAndByFilters) {
  for (int i = 0; i < 1200; ++i) {
    v1::Run run = MakeRun(fmt::format("sweep-{}", i), fmt::format("b{:09}", i),
                          i % 2 == 0 ? v1::RUN_STATE_QUEUED : v1::RUN_STATE_FAILED);
    (*run.mutable_labels())["third"] = std::to_string(i % 3);
    service_.AddRun(run);
  }
  RunsServer server(service_.address());
  AwaitBoard(server);
  const auto get = [&](const std::string& query) {
    return json::parse(server.Get("/api/v1/runs" + query).body);
  };
  const json first = get("");
  EXPECT_EQ(first["runs"].size(), 100u);
  EXPECT_EQ(first["runs"][0]["name"], "demo") << "what runs is on top";
  EXPECT_EQ(first["total"], 1201);
  EXPECT_EQ(first["counts"]["queued"], 600);
  EXPECT_EQ(get("?limit=250")["runs"].size(), 250u);
  std::set<std::string> ids;
  std::string query = "?limit=500";
  for (int pages = 1;; ++pages) {
    const json page = get(query);
    for (const json& run : page["runs"]) ids.insert(run["id"]);
    if (page["next_page_token"].is_null()) {
      EXPECT_EQ(pages, 3);
      break;
    }
    query = "?limit=500&page_token=" + page["next_page_token"].get<std::string>();
  }
  EXPECT_EQ(ids.size(), 1201u);
  EXPECT_EQ(get("?state=running,failed")["total"], 601);
  EXPECT_EQ(get("?state=running&state=failed")["total"], 601);
  EXPECT_EQ(get("?search=sweep-1199")["runs"].size(), 1u);
  EXPECT_TRUE(get("?search=sweep-1199")["total"].is_null());
  EXPECT_EQ(get("?limit=1000&label=third%3D1")["runs"].size(), 400u);
  EXPECT_EQ(get("?user=nobody")["runs"].size(), 0u);
  EXPECT_EQ(get("?since=99999999999")["runs"].size(), 0u);
  for (const char* wrong :
       {"?limit=0", "?limit=1001", "?limit=x", "?state=asleep", "?state=a,,b", "?label=team",
        "?label=%3Dx", "?since=now", "?label=team%3Da&label=team%3Db"}) {
    const http::Answer answer = server.Get("/api/v1/runs" + std::string(wrong));
    EXPECT_EQ(answer.status, 400) << wrong;
    EXPECT_NE(json::parse(answer.body)["error"]["message"], "");
  }
}

// Before, building the text of a thousand runs blocked the loop for 16 ms.
TEST_F(RunsApiTest, TheTextOfALongListIsNotMadeInTheLoop) {
  for (int i = 0; i < 1000; ++i) {
    service_.AddRun(MakeRun("sweep", fmt::format("b{:09}", i), v1::RUN_STATE_FAILED));
  }
  RunsServer server(service_.address());
  AwaitBoard(server);
  v1::ListResponse page;
  for (const v1::Run& run : server.api().board().board()->runs) *page.add_runs() = run;
  ASSERT_EQ(page.runs_size(), 100);
  // A page has a tenth of the list's runs, so ten documents of a page take as long as one list.
  constexpr int kRequests = 5;
  timespec begin{};
  timespec end{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  for (int i = 0; i < 10 * kRequests; ++i) Text(RunsDocument(Board(), page));
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  const auto making = std::chrono::seconds(end.tv_sec - begin.tv_sec) +
                      std::chrono::nanoseconds(end.tv_nsec - begin.tv_nsec);
  const auto in_loop = http::LoopTimeOf(server.server().loop(), [&] {
    for (int i = 0; i < kRequests; ++i) {
      EXPECT_EQ(server.Get("/api/v1/runs?limit=1000").status, 200);
    }
  });
  EXPECT_LT(in_loop, making / 2);
}

TEST_F(RunsApiTest, AParameterThatWouldBeLeftOutIsRefused) {
  RunsServer server(service_.address());
  AwaitBoard(server);
  const auto message = [&](const std::string& target) -> std::string {
    const http::Answer answer = server.Get(target);
    EXPECT_EQ(answer.status, 400) << target;
    return json::parse(answer.body)["error"]["message"];
  };
  EXPECT_EQ(message("/api/v1/runs?status=running"),
            "unknown parameter 'status'; did you mean 'state'?");
  EXPECT_EQ(message("/api/v1/runs?limits=5"), "unknown parameter 'limits'; did you mean 'limit'?");
  EXPECT_EQ(message("/api/v1/runs?q=x"),
            "unknown parameter 'q'; known are limit, page_token, state, label, user, namespace, "
            "search, since");
  EXPECT_EQ(message("/api/v1/runs/demo/points?point=5"),
            "unknown parameter 'point'; did you mean 'points'?");
  EXPECT_EQ(message("/api/v1/runs/demo?limit=5"),
            "unknown parameter 'limit'; this path takes no parameters");
  EXPECT_EQ(message("/api/v1/workers?limit=5"),
            "unknown parameter 'limit'; this path takes no parameters");
  EXPECT_EQ(message("/api/v1/events?runs=demo"), "unknown parameter 'runs'; did you mean 'run'?");
  EXPECT_EQ(message("/api/v1/runs?since=-1"),
            "since: expected a whole number of 0 or more, not '-1'");
  EXPECT_EQ(message("/api/v1/runs?limit=5&limit=6"), "limit: given more than once");
  for (const char* name :
       {"limit", "page_token", "state", "label", "user", "namespace", "search"}) {
    EXPECT_EQ(message(fmt::format("/api/v1/runs?{}=", name)),
              fmt::format("{}: expected a value after '='", name));
  }
}

TEST_F(RunsApiTest, ARunThatIsNotOnTheBoardIsOpenedByNameAndId) {
  service_.AddRun(MakeRun("old", "cccccccc01", v1::RUN_STATE_SUCCEEDED));
  for (int i = 0; i < 150; ++i) {
    service_.AddRun(MakeRun("sweep", fmt::format("b{:09}", i), v1::RUN_STATE_QUEUED));
  }
  RunsServer server(service_.address());
  AwaitBoard(server);
  EXPECT_EQ(json::parse(server.Get("/api/v1/runs/old").body)["run"]["id"], "cccccccc01");
  EXPECT_EQ(json::parse(server.Get("/api/v1/runs/b000000000").body)["run"]["name"], "sweep");
  EXPECT_EQ(json::parse(server.Get("/api/v1/runs/old/points").body)["total"], 200);
  http::HttpClient page(server.port());
  page.Request("GET", "/api/v1/events?run=b000000001");
  EXPECT_EQ(page.ReceiveHead().status, 200);
  EXPECT_EQ(Next(page, "run")["run"]["id"], "b000000001");
}

TEST_F(RunsApiTest, WhatIsNotKnownWhileTheCoordinatorIsAwayIsNotCalledMissing) {
  for (int i = 0; i < 150; ++i) {
    service_.AddRun(MakeRun("sweep", fmt::format("b{:09}", i), v1::RUN_STATE_QUEUED));
  }
  RunsServer server(service_.address());
  AwaitBoard(server);
  service_.FailNext(1'000'000);
  ASSERT_TRUE(Eventually([&] { return !server.api().board().board()->connected; }));
  EXPECT_EQ(server.Get("/api/v1/runs/b000000000").status, 503);
  EXPECT_EQ(server.Get("/api/v1/runs?limit=5").status, 503);
  EXPECT_EQ(server.Get("/api/v1/runs").status, 200) << "what was known stays";
  service_.FailNext(0);
}

TEST_F(RunsApiTest, ProblemsHaveTheirStatus) {
  RunsServer server(service_.address());
  AwaitBoard(server);
  const http::Answer unknown = server.Get("/api/v1/runs/nothing");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(json::parse(unknown.body)["error"]["code"], "run_not_found");
  EXPECT_EQ(server.Get("/api/v1/runs/nothing/points").status, 404);
  EXPECT_EQ(server.Get("/api/v1/events?run=nothing").status, 404);
  for (const char* query : {"points=many", "from=1x", "to=", "from=-5", "points=-1", "form=1"}) {
    EXPECT_EQ(server.Get("/api/v1/runs/demo/points?" + std::string(query)).status, 400) << query;
  }
  EXPECT_EQ(server.Get("/api/v1/runs/demo/points?points=5000&from=5&to=5").status, 200);
}

TEST_F(RunsApiTest, ANumberThatWouldMeanAnotherIsRefused) {
  RunsServer server(service_.address());
  AwaitBoard(server);
  const auto message = [&](const std::string& target) {
    const http::Answer answer = server.Get("/api/v1/runs" + target);
    EXPECT_EQ(answer.status, 400) << target;
    return json::parse(answer.body)["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(message("/demo/points?points=49"), "points: expected 50 to 5000, not 49");
  EXPECT_EQ(message("/demo/points?points=0"), "points: expected 50 to 5000, not 0");
  EXPECT_EQ(message("/demo/points?points=5001"), "points: expected 50 to 5000, not 5001");
  EXPECT_EQ(message("/demo/points?from=50&to=10"), "from: step 50 is after to, step 10");
  EXPECT_EQ(message("?since=1795751000000"),
            "since: 1795751000000 seconds since 1970 are after the year 9999; are they "
            "milliseconds? divide them by 1000");
  EXPECT_EQ(message("?search=%ff"), "parameter 'search' is not UTF-8: '?'");
}

TEST_F(RunsApiTest, DifferencesOfAnyRunsAreAnsweredByIdAndName) {
  const auto add = [&](const std::string& name, const std::string& id, const std::string& lr) {
    v1::Run run = MakeRun(name, id, v1::RUN_STATE_SUCCEEDED);
    run.set_resolved("name: " + name + "\nseed: 1\noptimizer:\n  lr: " + lr + "\n");
    service_.AddRun(run);
  };
  add("low", "cccccccc01", "0.001");
  add("high", "cccccccc02", "0.01");
  RunsServer server(service_.address());
  AwaitBoard(server);
  const http::Answer answer = server.Get("/api/v1/differences?run=cccccccc01&run=high");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Header("cache-control"), "no-store");
  const json document = json::parse(answer.body);
  EXPECT_EQ(document["runs"][1]["id"], "cccccccc02");
  EXPECT_EQ(document["keys"][0], json({{"key", "name"}, {"values", {"low", "high"}}}));
  EXPECT_EQ(document["keys"][1], json({{"key", "optimizer.lr"}, {"values", {"0.001", "0.01"}}}));
  EXPECT_EQ(document["keys"].size(), 2u) << "the seeds are equal";
}

// Answers with one sweep.
class OneSweep final : public v1::SweepService::Service {
  grpc::Status Get(grpc::ServerContext*, const v1::GetSweepRequest* request,
                   v1::Sweep* response) override {
    if (request->sweep() != "team/rates") return {grpc::StatusCode::NOT_FOUND, "there is none"};
    *response = client::SampleSweep({3.0, 3.2, 2.0, 2.2, 2.1, 2.3});
    return grpc::Status::OK;
  }
  grpc::Status List(grpc::ServerContext*, const v1::ListSweepsRequest*,
                    v1::ListSweepsResponse* response) override {
    *response->add_sweeps() = client::SampleSweep({3.0, 3.2, 2.0, 2.2, 2.1, 2.3});
    return grpc::Status::OK;
  }
};

TEST_F(RunsApiTest, SweepsAreThoseOfTheCoordinator) {
  OneSweep sweeps;
  const FakeRunService service({&sweeps});
  RunsServer server(service.address());
  AwaitBoard(server);
  const json list = json::parse(server.Get("/api/v1/sweeps").body);
  EXPECT_EQ(list["sweeps"][0]["name"], "rates");
  const http::Answer answer = server.Get("/api/v1/sweeps/rates?namespace=team");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(json::parse(answer.body)["sweep"]["best"], 3);
  const http::Answer elsewhere = server.Get("/api/v1/sweeps/rates");
  EXPECT_EQ(elsewhere.status, 404);
  EXPECT_EQ(json::parse(elsewhere.body)["error"]["code"], "sweep_not_found");
  EXPECT_EQ(server.Get("/api/v1/sweeps?namespace=team").status, 400);
}

TEST_F(RunsApiTest, AnOlderCoordinatorHasNoSweeps) {
  RunsServer server(service_.address());
  AwaitBoard(server);
  EXPECT_EQ(server.Get("/api/v1/sweeps").status, 404);
  EXPECT_EQ(server.Get("/api/v1/sweeps/rates").status, 404);
}

TEST_F(RunsApiTest, DifferencesThatCannotBeAnsweredSayWhy) {
  v1::Run damaged = MakeRun("damaged", "cccccccc01", v1::RUN_STATE_FAILED);
  damaged.set_resolved("a: [");
  service_.AddRun(damaged);
  RunsServer server(service_.address());
  AwaitBoard(server);
  const auto problem = [&](const std::string& query, int status) -> std::string {
    const http::Answer answer = server.Get("/api/v1/differences" + query);
    EXPECT_EQ(answer.status, status) << query;
    return json::parse(answer.body)["error"]["message"];
  };
  EXPECT_EQ(problem("", 400), "run: expected 2 to 16 runs to compare, like run=A&run=B, not 0");
  EXPECT_EQ(problem("?run=demo", 400),
            "run: expected 2 to 16 runs to compare, like run=A&run=B, not 1");
  std::string many = "?run=demo";
  for (int i = 0; i < 16; ++i) many += "&run=demo";
  EXPECT_EQ(problem(many, 400), "run: expected 2 to 16 runs to compare, like run=A&run=B, not 17");
  EXPECT_EQ(problem("?runs=demo", 400), "unknown parameter 'runs'; did you mean 'run'?");
  EXPECT_EQ(problem("?run=demo&run=", 400), "run: expected a value after '='");
  problem("?run=demo&run=nothing", 404);
  EXPECT_NE(problem("?run=demo&run=damaged", 500).find("run file of damaged cannot be read"),
            std::string::npos);
  service_.FailNext(1'000'000);
  ASSERT_TRUE(Eventually([&] { return !server.api().board().board()->connected; }));
  problem("?run=demo&run=damaged", 503);
  service_.FailNext(0);
}

TEST_F(RunsApiTest, WithoutACoordinatorPagesSayWhy) {
  RunsServer server("");
  EXPECT_EQ(json::parse(server.Get("/api/v1/runs").body)["coordinator"]["connected"], false);
  const http::Answer run = server.Get("/api/v1/runs/demo");
  EXPECT_EQ(run.status, 503);
  EXPECT_EQ(run.Header("retry-after"), "2");
}

TEST_F(RunsApiTest, AStreamBeginsWithEverythingAndTellsChanges) {
  RunsServer server(service_.address());
  AwaitBoard(server);
  http::HttpClient client(server.port());
  client.Request("GET", "/api/v1/events?run=demo");
  EXPECT_EQ(client.ReceiveHead().status, 200);
  EXPECT_EQ(Next(client, "runs")["runs"][0]["state"], "running");
  EXPECT_EQ(Next(client, "workers")["workers"].size(), 1u);
  EXPECT_EQ(Next(client, "run")["events"].size(), 1u);
  // Like a page, request the history now; the stream then sends only later points.
  EXPECT_EQ(server.Get("/api/v1/runs/demo/points").status, 200);
  for (int step = 201; step <= 203; ++step) service_.AddPoint(MakeStep(step));
  std::vector<int64_t> steps;
  while (steps.empty() || steps.back() != 203) {
    const json points = Next(client, "points");
    ASSERT_EQ(points["run"], kId);
    for (const json& step : points["points"]["step"]) steps.push_back(step);
  }
  EXPECT_THAT(steps, ::testing::ElementsAre(201, 202, 203));
  service_.AddEvent(v1::RUN_STATE_RUNNING, "checkpoint_sealed", "step 200");
  EXPECT_EQ(Next(client, "run")["events"].size(), 2u);
  v1::Run ended = MakeRun("demo", kId, v1::RUN_STATE_SUCCEEDED);
  service_.AddRun(ended);
  EXPECT_EQ(Next(client, "runs")["runs"][0]["state"], "succeeded");
}

TEST_F(RunsApiTest, APageIsToldWhenTheModelsOfItsRunHaveAnotherName) {
  std::atomic<bool> is_taken = false;
  RunsApiOptions options;
  options.models = [&](const std::string& run_id) {
    return RunModels{is_taken ? run_id : "demo", {}};
  };
  RunsServer server(service_.address(), {}, options);
  AwaitBoard(server);
  EXPECT_EQ(json::parse(server.Get("/api/v1/runs/demo").body)["run"]["model"], "demo");
  http::HttpClient client(server.port());
  client.Request("GET", "/api/v1/events?run=demo");
  EXPECT_EQ(client.ReceiveHead().status, 200);
  EXPECT_EQ(Next(client, "run")["run"]["model"], "demo");
  is_taken = true;
  while (Next(client, "run")["run"]["model"] != kId) ASSERT_FALSE(HasFailure());
}

TEST_F(RunsApiTest, APageThatReadsSlowlyIsToldTheNewestStateOnly) {
  constexpr int kChanges = 20;
  RunsServer server(service_.address());
  AwaitBoard(server);
  http::HttpClient slow(server.port(), /*receive_bytes=*/4096);
  slow.Request("GET", "/api/v1/events");
  EXPECT_EQ(slow.ReceiveHead().status, 200);
  http::HttpClient quick(server.port());
  quick.Request("GET", "/api/v1/events");
  EXPECT_EQ(quick.ReceiveHead().status, 200);
  for (int i = 1; i <= kChanges; ++i) {
    Change(i);
    while (VersionIn(Next(quick, "runs")) < i) ASSERT_FALSE(HasFailure());
  }
  int told = 0;
  for (int version = 0; version < kChanges; ++told) {
    version = VersionIn(Next(slow, "runs"));
    ASSERT_FALSE(HasFailure()) << "it was cut";
  }
  EXPECT_LT(told, kChanges);
}

TEST_F(RunsApiTest, APageThatReadsNothingIsLetGo) {
  http::ServerLimits limits;
  limits.write_timeout = std::chrono::milliseconds(50);
  limits.tick = std::chrono::milliseconds(10);
  RunsServer server(service_.address(), limits);
  AwaitBoard(server);
  http::HttpClient client(server.port(), /*receive_bytes=*/4096);
  client.Request("GET", "/api/v1/events");
  EXPECT_EQ(client.ReceiveHead().status, 200);
  int version = 0;
  EXPECT_TRUE(Eventually([&] {
    Change(++version);
    return server.server().InLoop([&] { return server.server().server().connections(); }) == 0;
  }));
}

TEST_F(RunsApiTest, StreamsEndWithTheServer) {
  RunsServer server(service_.address());
  AwaitBoard(server);
  http::HttpClient client(server.port());
  client.Request("GET", "/api/v1/events");
  EXPECT_EQ(client.ReceiveHead().status, 200);
  server.server().InLoop([&] { server.api().EndStreams(); });
  while (client.NextEvent()) continue;
}

TEST_F(RunsApiTest, ManyPagesThatLeaveAreForgotten) {
  RunsServer server(service_.address());
  AwaitBoard(server);
  for (int i = 0; i < 250; ++i) {
    http::HttpClient client(server.port());
    client.Request("GET", "/api/v1/events");
    EXPECT_EQ(client.ReceiveHead().status, 200);
    ASSERT_TRUE(client.NextEvent().has_value());
    client.Close();
    // Places of clients who left are reused.
    if (i % 50 == 49) {
      ASSERT_TRUE(Eventually([&] {
        return server.server().InLoop([&] { return server.server().server().connections(); }) <= 1;
      }));
    }
  }
}

TEST_F(RunsApiTest, OneClientDoesNotTakeTheStreamsOfTheOthers) {
  RunsApiOptions options;
  options.streams_max = 8;
  RunsServer server(service_.address(), {}, options, /*has_keys=*/true);
  AwaitBoard(server);
  std::vector<std::unique_ptr<http::HttpClient>> clients;
  http::Answer head;
  const auto open = [&](const std::string& who) {
    clients.push_back(std::make_unique<http::HttpClient>(server.port()));
    clients.back()->Request("GET", "/api/v1/events", "", "authorization: " + who + "\r\n");
    head = clients.back()->ReceiveHead();
    return head.status;
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(open("mallory"), 200);
  EXPECT_EQ(open("mallory"), 429) << "one client gets half";
  EXPECT_EQ(head.Header("retry-after"), "10");
  EXPECT_EQ(open("alice"), 200);
  EXPECT_EQ(open("alice"), 200);
  EXPECT_EQ(open("mallory"), 429);
  EXPECT_EQ(open("bob"), 200);
  EXPECT_EQ(open("bob"), 429);
  clients.front()->Close();
  EXPECT_TRUE(Eventually([&] { return open("bob") == 200; })) << "a place is given back";
}

TEST_F(RunsApiTest, AnyRunOfTheCoordinatorIsDescribed) {
  service_.AddRun(MakeRun("old", "cccccccc01", v1::RUN_STATE_SUCCEEDED));
  for (int i = 0; i < 150; ++i) {
    service_.AddRun(MakeRun("sweep", fmt::format("b{:09}", i), v1::RUN_STATE_QUEUED));
  }
  RunsServer server(service_.address());
  AwaitBoard(server);
  const auto describe = [&](const std::string& reference) {
    const auto told = std::make_shared<std::promise<StatusOr<v1::Run>>>();
    server.server().InLoop([&] {
      server.api().Describe(reference, [told](const auto& run) { told->set_value(run); });
    });
    return told->get_future().get();
  };
  EXPECT_EQ(describe("old")->run_id(), "cccccccc01");
  EXPECT_EQ(describe("cccccccc01")->name(), "old");
  EXPECT_EQ(describe("nothing").status().code(), StatusCode::kNotFound);
}

TEST_F(RunsApiTest, TheCatalogueIsToldOfSealedCheckpoints) {
  RunsServer server(service_.address());
  AwaitBoard(server);
  std::optional<std::vector<ServedRun>> told;
  const auto now = [&] { return server.server().InLoop([&] { return told; }); };
  server.server().InLoop(
      [&] { server.api().OnSealed([&](const auto& runs, bool) { told = runs; }); });
  ASSERT_TRUE(Eventually([&] { return now().has_value(); }))
      << "OnSealed must report an empty list, too";
  EXPECT_TRUE(now()->empty());
  v1::Checkpoint checkpoint;
  checkpoint.set_step(100);
  checkpoint.set_directory("/c/100");
  service_.AddCheckpoint(checkpoint);
  v1::Run run = MakeRun("demo", kId, v1::RUN_STATE_RUNNING);
  run.set_latest_checkpoint_step(100);
  service_.AddRun(run);
  ASSERT_TRUE(Eventually([&] { return !now()->empty(); }));
  EXPECT_EQ((*now())[0].checkpoints[0].directory, "/c/100");
  server.server().InLoop([&] { server.api().OnSealed([](const auto&, bool) {}); });
}

}  // namespace
}  // namespace gp::gateway
