#include "http/route_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace gp::http {
namespace {

using ::testing::HasSubstr;

class RouteDecisionTest : public ::testing::Test {
 protected:
  RouteDecisionTest() {
    const Handler handler = [](const std::shared_ptr<Exchange>&) {};
    router_.Add({.method = "GET", .pattern = "/v1/models/{id}", .handler = handler});
    router_.Add(
        {.method = "GET", .pattern = "/livez", .handler = handler, .open = true, .any_host = true});
    context_.key_name = [](std::string_view authorization) {
      return authorization == "Bearer good" ? std::optional<std::string>("team") : std::nullopt;
    };
    context_.sites = {.cors_origins = {"https://good.example"}, .checks_host = true};
  }

  RouteDecision Ask(std::string method, std::string_view target, Headers more = {}) {
    request_ = {.method = std::move(method), .headers = std::move(more)};
    request_.headers.emplace_back("host", host_);
    request_.headers.emplace_back("authorization", key_);
    return DecideRoute(context_, {target}, request_);
  }

  Router router_;
  ServerContext context_{.router = router_};
  std::string host_ = "localhost";
  std::string key_ = "Bearer good";
  Request request_;
};

TEST_F(RouteDecisionTest, ARouteAnswersAndTheRequestHasItsParts) {
  const RouteDecision decision = Ask("GET", "/v1/models/a%20b?limit=3");
  EXPECT_FALSE(decision.refusal.has_value());
  ASSERT_NE(decision.route, nullptr);
  EXPECT_EQ(decision.route->pattern, "/v1/models/{id}");
  EXPECT_EQ(request_.Capture("id"), "a b");
  EXPECT_EQ(request_.Parameter("limit"), "3");
  EXPECT_EQ(request_.key_name, "team");
}

TEST_F(RouteDecisionTest, AKeyIsAskedForExceptOnOpenRoutes) {
  key_ = "Bearer bad";
  const RouteDecision refused = Ask("GET", "/v1/models/a");
  ASSERT_TRUE(refused.refusal.has_value());
  EXPECT_EQ(refused.refusal->status, 401);
  EXPECT_NE(refused.route, nullptr) << "the log names the route of a refused request, too";
  EXPECT_EQ(request_.key_name, "");
  EXPECT_FALSE(Ask("GET", "/livez").refusal.has_value());
}

// An unknown name of the server is refused before the path is looked at, so that a page that
// reaches it by DNS rebinding learns nothing.
TEST_F(RouteDecisionTest, AnotherHostIsRefusedFirst) {
  host_ = "rebound.example";
  EXPECT_EQ(Ask("GET", "/no/such/path").refusal->status, 403);
  EXPECT_EQ(Ask("GET", "/v1/models/a").refusal->status, 403);
  EXPECT_FALSE(Ask("GET", "/livez").refusal.has_value());
}

TEST_F(RouteDecisionTest, OnlyHttp10NeedsNoHost) {
  request_ = {.method = "GET"};
  EXPECT_EQ(DecideRoute(context_, {"/livez"}, request_).refusal->status, 400);
  EXPECT_FALSE(DecideRoute(context_, {"/livez", true}, request_).refusal.has_value());
}

TEST_F(RouteDecisionTest, ThePathAndTheMethodAreNamed) {
  const RouteDecision unknown = Ask("GET", "/models/a");
  EXPECT_EQ(unknown.refusal->status, 404);
  EXPECT_THAT(unknown.refusal->body, HasSubstr("did you mean /v1/models/"));
  EXPECT_EQ(unknown.route, nullptr);
  const RouteDecision wrong = Ask("DELETE", "/v1/models/a");
  EXPECT_EQ(wrong.refusal->status, 405);
  EXPECT_THAT(wrong.refusal->body, HasSubstr("/v1/models/a accepts only GET, HEAD, OPTIONS"));
  EXPECT_EQ(Ask("GET", "/livez/").refusal->status, 308);
}

TEST_F(RouteDecisionTest, APreflightNeedsNoKey) {
  key_ = "";
  const Headers asks = {{"origin", "https://good.example"},
                        {"access-control-request-method", "GET"}};
  const RouteDecision decision = Ask("OPTIONS", "/v1/models/a", asks);
  EXPECT_EQ(decision.refusal->status, 204);
  EXPECT_EQ(decision.origin, "https://good.example");
}

TEST_F(RouteDecisionTest, AnotherSitesPageIsRefused) {
  const RouteDecision decision = Ask("GET", "/v1/models/a", {{"origin", "https://other.example"}});
  ASSERT_TRUE(decision.refusal.has_value());
  EXPECT_EQ(decision.refusal->status, 403);
  EXPECT_EQ(decision.origin, "");
}

TEST(ShownTarget, IsShortened) { EXPECT_EQ(ShownTarget(std::string(500, 'a')).size(), 200u); }

}  // namespace
}  // namespace gp::http
