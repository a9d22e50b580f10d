#include "client/gateway/models/model_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "client/gateway/running_gateway.h"
#include "lib/base/eventually.h"

namespace gp::gateway {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

class Pool : public ::testing::Test {
 protected:
  // Writes a checkpoint, which Serve will serve as `name`.
  void Add(const std::string& name, const CheckpointFiles& files = {}) {
    WriteCheckpoint(files_.File(name), files);
    directories_.push_back({name, files_.File(name)});
  }
  // Writes a run's directory with checkpoints of these steps, which Serve will serve as `name`.
  void AddRun(const std::string& name, const std::vector<int64_t>& steps) {
    for (const int64_t step : steps) AddStep(name, {.step = step});
    directories_.push_back({name, files_.File(name)});
  }
  void AddStep(const std::string& name, const CheckpointFiles& files) {
    WriteCheckpoint(fmt::format("{}/checkpoints/step-{:08}-e1-x", files_.File(name), files.step),
                    files);
  }
  void Serve() {
    gateway_.emplace(options_, directories_);
    ASSERT_TRUE(Eventually([&] {
      return Json::parse(http::Ask(gateway_->port(), "GET", "/v1/models").body)["data"].size() >=
             directories_.size();
    }));
  }
  http::Answer Complete(const std::string& model, const std::string& prompt, int tokens = 1,
                        const std::string& more = "") {
    return gateway_->Post("/v1/completions",
                          fmt::format(R"({{"model":"{}","prompt":"{}","max_tokens":{}{}}})", model,
                                      prompt, tokens, more));
  }
  std::string ModelOf(const http::Answer& answer) {
    return Json::parse(answer.body).value("model", "none: " + answer.body);
  }
  std::string StateOf(const std::string& model) {
    return Json::parse(http::Ask(gateway_->port(), "GET", "/v1/models/" + model).body)["state"];
  }
  // Opens a stream that continues until its client leaves, and reads its first event.
  std::unique_ptr<http::HttpClient> Busy(const std::string& model) {
    auto client = std::make_unique<http::HttpClient>(gateway_->port());
    client->Request(
        "POST", "/v1/completions",
        fmt::format(R"({{"model":"{}","prompt":"Nx","max_tokens":62,"stream":true,"n":{}}})", model,
                    options_.streams));
    EXPECT_EQ(client->ReceiveHead().status, 200);
    EXPECT_TRUE(client->NextEvent());
    return client;
  }

  TemporaryDirectory files_;
  ModelPoolOptions options_ = RunningGateway::FakePool();
  std::vector<NamedDirectory> directories_;
  std::optional<RunningGateway> gateway_;
};

TEST_F(Pool, LoadsAModelWhenItIsFirstAskedFor) {
  Add("a");
  Serve();
  EXPECT_EQ(StateOf("a"), "idle");
  EXPECT_EQ(Complete("a", "x").status, 200);
  EXPECT_EQ(StateOf("a"), "ready");
  EXPECT_EQ(gateway_->Counts().loaded, 1);
}

TEST_F(Pool, ASamplerThatEndsFailsItsRequestsAndIsStartedAgain) {
  Add("a");
  Serve();
  const http::Answer failed = Complete("a", "C");
  EXPECT_EQ(failed.status, 503);
  EXPECT_EQ(failed.Header("retry-after"), "1");
  EXPECT_THAT(failed.body, HasSubstr("ended with status 7"));
  EXPECT_EQ(Complete("a", "x").status, 200);
  EXPECT_EQ(gateway_->Counts().restarts, 1u);
}

TEST_F(Pool, OtherModelsGoOnWhenOneEnds) {
  Add("a");
  Add("b", {.fake = "slow"});  // its texts last for longer than a busy machine needs to start "a"
  Serve();
  const auto busy = Busy("b");
  EXPECT_EQ(Complete("a", "C").status, 503);
  EXPECT_TRUE(busy->NextEvent());
  EXPECT_EQ(gateway_->Counts().texts_running, options_.streams);
}

TEST_F(Pool, AModelThatCannotBeLoadedSaysWhy) {
  Add("fails", {.fake = "fail"});
  Add("damaged", {.fake = "damaged"});
  Add("good");
  options_.restart.initial = milliseconds(20);
  Serve();
  const http::Answer failed = Complete("fails", "x");
  EXPECT_EQ(failed.status, 503);
  EXPECT_THAT(failed.body, HasSubstr("failed as asked"));
  EXPECT_NE(failed.Header("retry-after"), "");
  const http::Answer damaged = Complete("damaged", "x");
  EXPECT_EQ(damaged.status, 500);
  EXPECT_THAT(damaged.body, HasSubstr("model.safetensors is damaged"));
  EXPECT_EQ(Complete("good", "x").status, 200);
}

TEST_F(Pool, AfterADeletedCheckpointTheNextOneAnswers) {
  AddRun("run", {1});
  Serve();
  EXPECT_EQ(ModelOf(Complete("run", "x")), "run@1");
  std::filesystem::remove_all(files_.File("run/checkpoints"));
  ASSERT_TRUE(Eventually([&] { return Complete("run", "x").status == 404; }));
  AddStep("run", {.step = 2});
  // The sampler of the deleted checkpoint still runs, and may respond until the next one is loaded.
  ASSERT_TRUE(Eventually([&] {
    const http::Answer answer = Complete("run", "x");
    EXPECT_TRUE(answer.status == 200 || answer.status == 404) << answer.body;
    return answer.status == 200 && ModelOf(answer) == "run@2";
  }));
}

TEST_F(Pool, AProgramThatIsMissingIsTold) {
  Add("a");
  options_.command.program = "/nowhere/gp-sampler";
  Serve();
  const http::Answer answer = Complete("a", "x");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("/nowhere/gp-sampler"));
}

TEST_F(Pool, ACheckpointWhoseTokenizerIsGoneIsTold) {
  Add("a");
  ASSERT_TRUE(RemoveTree(JoinPath(files_.File("a"), "tokenizer.json")).ok());
  Serve();
  EXPECT_EQ(Complete("a", "x").status, 500);
}

TEST_F(Pool, ACheckpointThatIsDeletedWhileItIsServedGoesFromTheList) {
  Add("a");
  Add("b");
  Serve();
  EXPECT_EQ(Complete("a", "x").status, 200);
  ASSERT_TRUE(RemoveTree(files_.File("a")).ok());
  EXPECT_TRUE(Eventually([&] { return Complete("a", "x").status == 404; }));
  EXPECT_EQ(Complete("b", "x").status, 200);
}

TEST_F(Pool, ASamplerThatHangsIsEnded) {
  Add("a");
  options_.stall_timeout = milliseconds(100);
  Serve();
  const http::Answer answer = Complete("a", "H");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("hung"));
  // Retry: on a busy machine the next sampler may also exceed the time limit.
  EXPECT_TRUE(Eventually([&] { return Complete("a", "x").status == 200; }));
}

TEST_F(Pool, ASamplerThatIsNeverReadyIsEnded) {
  Add("a", {.fake = "hang"});
  options_.start_timeout = milliseconds(50);
  options_.restart.initial = milliseconds(1);
  Serve();
  const http::Answer answer = Complete("a", "x");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("did not become ready"));
}

TEST_F(Pool, AnErrorOfOneTextIsItsOwn) {
  Add("a");
  Serve();
  const auto busy = Busy("a");
  const http::Answer answer = Complete("a", "E");
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, HasSubstr("an error as asked"));
  EXPECT_TRUE(busy->NextEvent());
}

TEST_F(Pool, ARequestThatTakesTooLongEndsWithAnError) {
  Add("a", {.fake = "mute"});
  options_.request_timeout = milliseconds(100);
  Serve();
  const http::Answer answer = Complete("a", "x");
  EXPECT_EQ(answer.status, 504);
  EXPECT_THAT(answer.body, HasSubstr("timeout"));
  EXPECT_EQ(gateway_->Counts().texts_running, 0);
}

TEST_F(Pool, RefusesMoreRequestsThanMayWait) {
  Add("a", {.fake = "mute"});
  options_.streams = 1;
  options_.requests_waiting_max = 4;  // one client may use half of these
  Serve();
  std::vector<std::unique_ptr<http::HttpClient>> clients;
  // A sampler with one stream is sent three texts: one to write and two ahead.
  for (int i = 0; i < 3 + 2; ++i) {
    clients.push_back(std::make_unique<http::HttpClient>(gateway_->port()));
    clients.back()->Request("POST", "/v1/completions", R"({"prompt":"x","model":"a"})");
    const int expected = i + 1;
    ASSERT_TRUE(Eventually([&] {
      const PoolCounts counts = gateway_->Counts();
      return counts.loaded == 1 && counts.texts_running + counts.requests_waiting == expected;
    }));
  }
  const http::Answer refused = Complete("a", "x");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.Header("retry-after"), "1");
  EXPECT_THAT(refused.body, HasSubstr("rate_limit_error"));
  EXPECT_THAT(refused.body, HasSubstr("2 of them from this client"));
}

TEST_F(Pool, TheLeastRecentlyUsedIdleModelMakesRoom) {
  for (const char* name : {"a", "b", "c"}) Add(name);
  options_.memory_bytes_max = 25;  // enough for two models of 10 bytes
  Serve();
  for (const char* name : {"a", "b", "a", "c"}) EXPECT_EQ(Complete(name, "x").status, 200);
  EXPECT_EQ(StateOf("a"), "ready");
  EXPECT_EQ(StateOf("b"), "idle");
  EXPECT_EQ(StateOf("c"), "ready");
  EXPECT_LE(gateway_->Counts().memory_bytes, 25u);
}

TEST_F(Pool, WhoWaitsForRoomGetsItThoughTheOtherModelIsAlwaysBusy) {
  Add("a");
  Add("b");
  options_.memory_bytes_max = 15;
  options_.yield_after = milliseconds(50);
  Serve();
  const auto busy = Busy("a");
  EXPECT_EQ(Complete("b", "x").status, 200);
  // The running text was not aborted: its stream ends regularly.
  std::string last;
  while (auto event = busy->NextEvent()) last = *event;
  EXPECT_EQ(last, "[DONE]");
}

TEST_F(Pool, AModelThatNeverFitsIsRefused) {
  Add("a");
  options_.memory_bytes_max = 5;
  Serve();
  const http::Answer answer = Complete("a", "x");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.Header("x-should-retry"), "false");
  EXPECT_THAT(answer.body, HasSubstr("sampler.memory_limit"));
}

TEST_F(Pool, ANewerCheckpointTakesOverWithoutDroppingWhatRuns) {
  AddRun("run", {1});
  Serve();
  EXPECT_EQ(ModelOf(Complete("run", "x")), "run@1");
  const auto busy = Busy("run");
  AddStep("run", {.step = 2});
  EXPECT_TRUE(Eventually([&] {
    const http::Answer answer = Complete("run", "x");
    EXPECT_EQ(answer.status, 200);
    return ModelOf(answer) == "run@2";
  }));
  EXPECT_EQ(ModelOf(Complete("run@1", "x")), "run@1");
  std::string last;
  while (auto event = busy->NextEvent()) last = *event;
  EXPECT_EQ(last, "[DONE]");
}

TEST_F(Pool, TheOlderCheckpointAnswersWhileTheNewerOneCannotBeLoaded) {
  AddRun("run", {1});
  Serve();
  EXPECT_EQ(ModelOf(Complete("run", "x")), "run@1");
  AddStep("run", {.step = 2, .fake = "damaged"});
  ASSERT_TRUE(Eventually([&] { return gateway_->Counts().restarts > 0; }));
  EXPECT_EQ(ModelOf(Complete("run", "x")), "run@1");
  EXPECT_EQ(Complete("run@2", "x").status, 500);
}

TEST_F(Pool, AnAliasMovesThoughTheLimitHoldsOneModelOnly) {
  AddRun("run", {1});
  options_.memory_bytes_max = 10;
  Serve();
  EXPECT_EQ(ModelOf(Complete("run", "x")), "run@1");
  AddStep("run", {.step = 2});
  EXPECT_TRUE(Eventually([&] {
    const http::Answer answer = Complete("run", "x");
    EXPECT_EQ(answer.status, 200) << answer.body;
    return ModelOf(answer) == "run@2";
  }));
}

TEST_F(Pool, NamesFollowTheirRun) {
  Catalogue catalogue;
  ServedRun old{.id = "r1", .name = "demo", .submitted_at = 1};
  old.checkpoints = {{.step = 5, .directory = "/r1/5", .sealed_at = 50}};
  ServedRun young{.id = "r2", .name = "demo", .submitted_at = 2};
  young.checkpoints = {{.step = 1, .directory = "/r2/1", .validation_loss = 3.0, .sealed_at = 60},
                       {.step = 2, .directory = "/r2/2", .validation_loss = 4.0, .sealed_at = 70}};
  catalogue.UpdateRuns({old, young}, /*complete=*/true);
  EXPECT_EQ(catalogue.Find("")->resolved, "demo@2");
  EXPECT_EQ(catalogue.Find("demo")->checkpoint.directory, "/r2/2");
  EXPECT_EQ(catalogue.Find("demo@latest")->checkpoint.directory, "/r2/2");
  EXPECT_EQ(catalogue.Find("demo@best")->checkpoint.directory, "/r2/1");
  EXPECT_EQ(catalogue.Find("demo@1")->checkpoint.directory, "/r2/1");
  EXPECT_EQ(catalogue.Find("r1@5")->resolved, "r1@5");
  EXPECT_EQ(catalogue.Find("demo@5").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(catalogue.Find("r1@best").status().code(), StatusCode::kNotFound);
  for (const char* bad : {"demo@", "demo@x", "@", "demo@-1", "demo@1@2", "../demo"}) {
    EXPECT_FALSE(catalogue.Find(bad).ok()) << bad;
  }
  EXPECT_EQ(catalogue.ModelsOfRun("r2"), (RunModels{"demo", {2, 1}}));
  EXPECT_EQ(catalogue.ModelsOfRun("r1"), (RunModels{"r1", {5}}));
  EXPECT_EQ(catalogue.ModelsOfRun("demo"), RunModels());
  std::vector<std::string> names;
  for (const NamedModel& model : catalogue.List()) names.push_back(model.id);
  EXPECT_THAT(names, ::testing::ElementsAre("demo", "r1", "demo@best", "demo@2", "demo@1", "r1@5"));
}

}  // namespace
}  // namespace gp::gateway
