#include "http/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::http {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Router ModelsRouter() {
  Router router;
  for (const auto& [method, pattern] :
       std::vector<std::pair<const char*, const char*>>{{"GET", "/v1/models"},
                                                        {"GET", "/v1/models/{id...}"},
                                                        {"GET", "/v1/models/{id}/state"},
                                                        {"GET", "/v1/models/all/state"},
                                                        {"POST", "/v1/completions"}}) {
    router.Add({method, pattern, [](const auto&) {}});
  }
  return router;
}

// The pattern of the route that matches; empty if none does.
std::string Answers(const Router& router, const std::vector<std::string>& path,
                    Headers* captures = nullptr) {
  Headers own;
  const auto found = router.Find("GET", path, captures == nullptr ? own : *captures);
  const auto* route = std::get_if<const Route*>(&found);
  return route == nullptr ? "" : (*route)->pattern;
}

TEST(Router, ARouteWithFewerCapturesWins) {
  const Router router = ModelsRouter();
  Headers captures;
  EXPECT_EQ(Answers(router, {"v1", "models"}), "/v1/models");
  EXPECT_EQ(Answers(router, {"v1", "models", "all", "state"}, &captures), "/v1/models/all/state");
  EXPECT_THAT(captures, IsEmpty());
}

TEST(Router, TheLastCaptureMayTakeAllThatIsLeft) {
  const Router router = ModelsRouter();
  Headers captures;
  EXPECT_EQ(Answers(router, {"v1", "models", "a", "b"}, &captures), "/v1/models/{id...}");
  EXPECT_THAT(captures, ElementsAre(Pair("id", "a/b")));
  EXPECT_EQ(Answers(router, {"v1", "models", ""}), "") << "a slash too many";
}

TEST(Router, ACaptureTakesNoEmptyPart) {
  Router router;
  router.Add({"GET", "/things/{id}", [](const auto&) {}});
  EXPECT_EQ(Answers(router, {"things", "a"}), "/things/{id}");
  for (const std::vector<std::string>& path :
       {std::vector<std::string>{"things", ""}, {"things"}, {"things", "a", "b"}}) {
    EXPECT_EQ(Answers(router, path), "");
  }
}

TEST(Router, AnotherMethodIsToldWhichOnesThereAre) {
  const Router router = ModelsRouter();
  Headers captures;
  const auto found = router.Find("DELETE", {"v1", "models"}, captures);
  ASSERT_TRUE(std::holds_alternative<Router::WrongMethod>(found));
  EXPECT_EQ(std::get<Router::WrongMethod>(found).allowed, "GET, HEAD, OPTIONS");
  EXPECT_TRUE(std::holds_alternative<Router::Unknown>(router.Find("GET", {"nothing"}, captures)));
}

TEST(Router, SuggestsThePathThatWasMeant) {
  const Router router = ModelsRouter();
  EXPECT_EQ(router.Suggest({"completions"}), "/v1/completions");
  EXPECT_EQ(router.Suggest({"", "v1", "", "models"}), "/v1/models");
  EXPECT_EQ(router.Suggest({"v1", "completion"}), "/v1/completions");
  EXPECT_EQ(router.Suggest({"quite", "another"}), std::nullopt);
}

}  // namespace
}  // namespace gp::http
