#include "client/gateway/models/model_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>

#include "client/gateway/running_gateway.h"

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
  gateway.InLoop([&] { gateway.models().UpdateRuns({Run("demo")}); });
  const http::Answer answer = completion.get();
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(newest.get().status, 200);
  EXPECT_EQ(Json::parse(list.get().body)["data"][0]["id"], "demo");
}

// It would get the ids of the model that happened to be known first.
TEST_F(ModelServiceTest, ATextWithoutAModelWaitsUntilItIsKnownHowManyModelsThereAre) {
  RunningGateway gateway({.pool = RunningGateway::FakePool(),
                          .directories = Directory(),
                          .has_coordinator = true,
                          .patience = std::chrono::hours(1)});
  ASSERT_EQ(http::Ask(gateway.port(), "GET", "/v1/models/m").status, 200);
  auto ids = std::async(std::launch::async,
                        [&] { return gateway.Post("/tokenize", R"({"prompt":"ab"})"); });
  EXPECT_EQ(http::Ask(gateway.port(), "GET", "/livez").status, 200);
  gateway.InLoop([&] { gateway.models().UpdateRuns({Run("demo")}); });
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

  gateway.InLoop([&] { gateway.models().UpdateRuns({}); });
  EXPECT_EQ(gateway.Post("/v1/completions", CompletionOf("demo")).status, 404);
  EXPECT_EQ(http::Ask(gateway.port(), "GET", "/v1/models/demo").status, 404);
  EXPECT_EQ(Json::parse(http::Ask(gateway.port(), "GET", "/v1/models").body)["data"],
            Json::array());
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
