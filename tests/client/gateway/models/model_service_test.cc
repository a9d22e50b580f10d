#include "client/gateway/models/model_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>

#include "client/gateway/running_gateway.h"
#include "lib/base/eventually.h"

namespace gp::gateway {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

class ModelServiceTest : public ::testing::Test {
 protected:
  ModelServiceTest() { WriteCheckpoint(files_.File("m")); }

  std::vector<NamedDirectory> Directory() { return {{"m", files_.File("m")}}; }
  ServedRun Run(const std::string& name) {
    return {.id = "id-" + name,
            .name = name,
            .checkpoints = {{.step = 1, .directory = files_.File("m")}}};
  }
  static std::string CompletionOf(const std::string& model) {
    return R"({"prompt":"a","max_tokens":1,"model":")" + model + "\"}";
  }

  TemporaryDirectory files_;
};

TEST_F(ModelServiceTest, ARequestRightAfterTheStartIsServedFromADirectory) {
  RunningGateway gateway(RunningGateway::FakePool(), Directory());
  const http::Answer answer = gateway.Post("/v1/completions", CompletionOf("m"));
  EXPECT_EQ(answer.status, 200) << answer.body;
}

TEST_F(ModelServiceTest, ARequestWaitsForTheRunsOfTheCoordinator) {
  RunningGateway gateway({.pool = RunningGateway::FakePool(),
                          .has_coordinator = true,
                          .patience = std::chrono::hours(1)});
  auto completion = std::async(
      std::launch::async, [&] { return gateway.Post("/v1/completions", CompletionOf("demo")); });
  auto newest = std::async(std::launch::async, [&] {
    return gateway.Post("/v1/completions", R"({"prompt":"a","max_tokens":1})");
  });
  auto list = std::async(std::launch::async,
                         [&] { return http::Ask(gateway.port(), "GET", "/v1/models"); });
  EXPECT_EQ(http::Ask(gateway.port(), "GET", "/livez").status, 200);
  gateway.InLoop([&] { gateway.models().UpdateRuns({Run("demo")}, true); });
  const http::Answer answer = completion.get();
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(newest.get().status, 200);
  EXPECT_EQ(Json::parse(list.get().body)["data"][0]["id"], "demo");
}

// Without the wait, the text would be tokenized with the model that became known first.
TEST_F(ModelServiceTest, ATextWithoutAModelWaitsUntilItIsKnownHowManyModelsThereAre) {
  RunningGateway gateway({.pool = RunningGateway::FakePool(),
                          .directories = Directory(),
                          .has_coordinator = true,
                          .patience = std::chrono::hours(1)});
  ASSERT_EQ(http::Ask(gateway.port(), "GET", "/v1/models/m").status, 200);
  auto ids = std::async(std::launch::async,
                        [&] { return gateway.Post("/tokenize", R"({"prompt":"ab"})"); });
  EXPECT_EQ(http::Ask(gateway.port(), "GET", "/livez").status, 200);
  gateway.InLoop([&] { gateway.models().UpdateRuns({Run("demo")}, true); });
  const http::Answer answer = ids.get();
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("model is missing, and 2 models are served here"));
}

TEST_F(ModelServiceTest, UntilTheRunsAreListedAnUnknownNameIsNotRefusedForGood) {
  RunningGateway gateway({.pool = RunningGateway::FakePool(),
                          .has_coordinator = true,
                          .patience = std::chrono::milliseconds(1)});
  for (const http::Answer& answer : {gateway.Post("/v1/completions", CompletionOf("demo")),
                                     http::Ask(gateway.port(), "GET", "/v1/models/demo"),
                                     http::Ask(gateway.port(), "GET", "/v1/models")}) {
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.Header("retry-after"), "1");
    EXPECT_EQ(Json::parse(answer.body)["error"]["code"], "models_unknown");
    EXPECT_THAT(answer.body, HasSubstr("the coordinator has not listed its runs yet"));
  }

  gateway.InLoop([&] { gateway.models().UpdateRuns({}, true); });
  EXPECT_EQ(gateway.Post("/v1/completions", CompletionOf("demo")).status, 404);
  EXPECT_EQ(http::Ask(gateway.port(), "GET", "/v1/models/demo").status, 404);
  EXPECT_EQ(Json::parse(http::Ask(gateway.port(), "GET", "/v1/models").body)["data"],
            Json::array());
}

// Two of 50 runs are called twin. The older one answered for the newer one, whose checkpoints the
// gateway had not fetched yet.
TEST_F(ModelServiceTest, TheNameOfARunWaitsUntilNoNewerRunOfThatNameCanBeMissing) {
  std::vector<ServedRun> runs;
  for (int number = 0; number < 50; ++number) {
    ServedRun& run = runs.emplace_back(Run(fmt::format("r{}", number)));
    run.submitted_at = number;
    run.checkpoints[0].step = 1 + number;
    run.checkpoints[0].validation_loss = 1;
  }
  runs.front().name = runs.back().name = "twin";
  const std::vector<ServedRun> older(runs.begin(), runs.end() - 1);
  RunningGateway gateway({.pool = RunningGateway::FakePool(),
                          .has_coordinator = true,
                          .patience = std::chrono::hours(1)});
  gateway.InLoop([&] { gateway.models().UpdateRuns(older, /*complete=*/false); });
  const auto ask = [&](const char* target) {
    return std::async(std::launch::async,
                      [&gateway, target] { return http::Ask(gateway.port(), "GET", target); });
  };
  auto newest = ask("/v1/models/twin");
  auto best = ask("/v1/models/twin@best");
  auto nameless = ask("/tokenizer_info");
  EXPECT_EQ(http::Ask(gateway.port(), "GET", "/v1/models/id-r7@8").status, 200)
      << "an id stands for one run";
  EXPECT_FALSE(gateway.InLoop([&] { return gateway.models().Find("").ok(); }));
  gateway.InLoop([&] { gateway.models().UpdateRuns(runs, /*complete=*/true); });
  EXPECT_EQ(Json::parse(newest.get().body)["step"], 50);
  EXPECT_EQ(Json::parse(best.get().body)["step"], 50);
  EXPECT_THAT(nameless.get().body, HasSubstr("50 models are served here"));
  EXPECT_EQ(Json::parse(http::Ask(gateway.port(), "GET", "/v1/models/id-r0").body)["step"], 1);
  // Once complete, the names stay while more is fetched.
  gateway.InLoop([&] { gateway.models().UpdateRuns(older, /*complete=*/false); });
  EXPECT_EQ(Json::parse(http::Ask(gateway.port(), "GET", "/v1/models/twin").body)["step"], 1);
}

TEST_F(ModelServiceTest, ANameThatMayMeanANewerRunIsRefusedForNowAfterTheWait) {
  RunningGateway gateway({.pool = RunningGateway::FakePool(),
                          .has_coordinator = true,
                          .patience = std::chrono::milliseconds(1)});
  gateway.InLoop([&] { gateway.models().UpdateRuns({Run("twin")}, /*complete=*/false); });
  for (const std::string& body :
       {CompletionOf("twin"), CompletionOf("twin@best"), CompletionOf("twin@1"),
        std::string(R"({"prompt":"a","max_tokens":1})")}) {
    const http::Answer answer = gateway.Post("/v1/completions", body);
    EXPECT_EQ(answer.status, 503) << body << answer.body;
    EXPECT_EQ(answer.Header("retry-after"), "1");
  }
  EXPECT_EQ(gateway.Post("/v1/completions", CompletionOf("id-twin@1")).status, 200);
}

TEST_F(ModelServiceTest, ARunDoesNotAnswerForADirectoryThatIsStillBeingRead) {
  RunningGateway gateway({.pool = RunningGateway::FakePool(), .has_coordinator = true});
  gateway.InLoop([&] {
    http::EventLoop loop;  // never runs, so the scan of the directories never completes
    http::OffloadPool work(loop, {});
    ModelService reading(loop, work, {.directories = Directory(), .has_coordinator = true});
    reading.UpdateRuns({Run("m")}, /*complete=*/true);
    EXPECT_EQ(reading.Find("m").status().code(), StatusCode::kUnavailable);
    EXPECT_TRUE(reading.Find("id-m").ok());
  });
}

// The list of a thousand runs took 18 ms of the loop for each request.
TEST_F(ModelServiceTest, TheListOfModelsIsMadeOnceUntilSomethingInItChanges) {
  RunningGateway gateway({.pool = RunningGateway::FakePool(), .has_coordinator = true});
  std::vector<ServedRun> runs;
  for (int number = 0; number < 1000; ++number) {
    ServedRun& run = runs.emplace_back(Run(fmt::format("r{}", number)));
    run.submitted_at = number;
    for (int step = 2; step < 10; ++step) run.checkpoints.push_back(run.checkpoints[0]);
    for (int step = 2; step < 10; ++step) run.checkpoints[step - 1].step = step;
  }
  gateway.InLoop([&] { gateway.models().UpdateRuns(runs, /*complete=*/true); });
  const auto list = [&] { return http::Ask(gateway.port(), "GET", "/v1/models").body; };
  ASSERT_TRUE(Eventually([&] { return list().find("\"tokenizer\":null") == std::string::npos; }));
  const std::chrono::nanoseconds kept = gateway.LoopTimeOf(list);
  runs[0].checkpoints.pop_back();
  const std::chrono::nanoseconds made = gateway.LoopTimeOf([&] {
    gateway.InLoop([&] { gateway.models().UpdateRuns(runs, /*complete=*/true); });
    return list();
  });
  EXPECT_LT(kept, made / 2);
  EXPECT_EQ(Json::parse(list())["data"].size(), 1000u + 9 * 1000u - 1);
  EXPECT_EQ(list().find("\"state\":\"ready\""), std::string::npos);
  EXPECT_EQ(gateway.Post("/v1/completions", CompletionOf("r0")).status, 200);
  EXPECT_NE(list().find("\"state\":\"ready\""), std::string::npos);
}

TEST_F(ModelServiceTest, ARunThatIsNotServedIsToldFromANameThatNothingHas) {
  std::vector<std::string> asked;
  RunningGateway gateway(
      {.pool = RunningGateway::FakePool(),
       .has_coordinator = true,
       .explain = [&](const std::string& name, const ModelServiceOptions::Explained& then) {
         asked.push_back(name);
         if (name == "old") return then(NotFound("run 'old' exists, but is not served"));
         then(name == "new" ? Unavailable("not known yet") : OkStatus());
       }});
  gateway.InLoop([&] { gateway.models().UpdateRuns({Run("demo")}, /*complete=*/true); });
  const auto message = [](const http::Answer& answer) -> std::string {
    EXPECT_EQ(answer.status, 404);
    return Json::parse(answer.body)["error"]["message"];
  };
  EXPECT_EQ(message(gateway.Post("/v1/completions", CompletionOf("old@best"))),
            "run 'old' exists, but is not served");
  EXPECT_EQ(message(http::Ask(gateway.port(), "GET", "/v1/models/old")),
            "run 'old' exists, but is not served");
  EXPECT_EQ(message(gateway.Post("/v1/completions", CompletionOf("dem"))),
            "there is no model 'dem'; did you mean 'demo'?");
  EXPECT_EQ(message(gateway.Post("/v1/completions", CompletionOf("demo@7"))),
            "there is no model 'demo@7'; the only checkpoint of demo is demo@1");
  EXPECT_EQ(gateway.InLoop([&] { return asked; }), (std::vector<std::string>{"old", "old", "dem"}));
  const http::Answer fresh = gateway.Post("/v1/completions", CompletionOf("new"));
  EXPECT_EQ(fresh.status, 503) << "it is one in a moment";
  EXPECT_EQ(fresh.Header("retry-after"), "1");
}

TEST_F(ModelServiceTest, DirectoriesAreServedWhileTheCoordinatorIsAway) {
  RunningGateway gateway({.pool = RunningGateway::FakePool(),
                          .directories = Directory(),
                          .has_coordinator = true,
                          .patience = std::chrono::hours(1)});
  EXPECT_EQ(gateway.Post("/v1/completions", CompletionOf("m")).status, 200);
  EXPECT_EQ(http::Ask(gateway.port(), "GET", "/v1/models/m").status, 200);
}

}  // namespace
}  // namespace gp::gateway
