#include "client/gateway/page_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/gateway/openapi.h"
#include "lib/http/http_client.h"
#include "lib/http/running_server.h"

namespace gp::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPage =
    "<style>a{}</style><script>one()</script><p>text<script type=\"module\">two()</script>";

TEST(PageStore, AllowsTheScriptsAndStylesThatStandInThePageAlone) {
  const std::string policy = ContentSecurityPolicy(kPage);
  // printf 'one()' | openssl dgst -sha256 -binary | base64
  EXPECT_THAT(policy,
              HasSubstr("script-src 'sha256-HR7iaask9daLMRRskMI++QeJtjWDOjyPA6lGzYGzKW4='"));
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; "));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(ContentSecurityPolicy("<p>plain"), HasSubstr("script-src 'none'; style-src 'none'"));
}

TEST(PageStore, SendsAPageOnceToWhoKeepsIt) {
  http::Router router;
  AddPageRoutes({{"/", kPage}}, router);
  http::RunningServer server({.router = router});
  const http::Answer first = http::Ask(server.port(), "GET", "/");
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.body, kPage);
  EXPECT_EQ(first.Header("x-content-type-options"), "nosniff");
  EXPECT_EQ(first.Header("content-security-policy"), ContentSecurityPolicy(kPage));
  const http::Answer again =
      http::Ask(server.port(), "GET", "/", "", "If-None-Match: " + first.Header("etag") + "\r\n");
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
}

TEST(PageStore, NeedsNoKey) {
  http::Router router;
  AddPageRoutes({{"/", kPage}}, router);
  http::RunningServer server({.router = router, .key_name = [](auto) { return std::nullopt; }});
  EXPECT_EQ(http::Ask(server.port(), "GET", "/").status, 200);
}

TEST(PageStore, BuiltInPagesAskNobodyElse) {
  for (const PageSource& page : BuiltInPages()) {
    EXPECT_THAT(std::string(page.html), Not(HasSubstr("gp:inline"))) << page.path;
    EXPECT_THAT(std::string(page.html), Not(HasSubstr("src=\"http"))) << page.path;
  }
}

TEST(OpenApi, IsOne) {
  const auto document = nlohmann::json::parse(OpenApiText(), nullptr, false);
  ASSERT_TRUE(document.is_object());
  EXPECT_TRUE(document["paths"].contains("/v1/completions"));
}

}  // namespace
}  // namespace gp::gateway
