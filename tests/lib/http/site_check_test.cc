#include "http/site_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::http {
namespace {

using ::testing::HasSubstr;

TEST(SiteCheck, TakesANameInEveryForm) {
  for (const auto& [text, name] : {std::pair("example.org", "example.org"),
                                   {"Example.ORG", "example.org"},
                                   {"example.org.", "example.org"},
                                   {"gp_upstream", "gp_upstream"},
                                   {"xn--bcher-kva.example", "xn--bcher-kva.example"},
                                   {"[::1]", "::1"},
                                   {"[FE80::A]", "fe80::a"},
                                   {"::1", "::1"},
                                   {"10.0.0.7", "10.0.0.7"},
                                   {"localhost", "localhost"},
                                   {"*", "*"}}) {
    const auto parsed = ParseHostName(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, name);
  }
}

TEST(SiteCheck, RefusesWhatIsMoreThanANameAndSaysTheName) {
  for (const auto& [text, name] : {std::pair("example.org:8080", "example.org"),
                                   {"example.org.:8080", "example.org"},
                                   {"EXAMPLE.org:80", "example.org"},
                                   {"[::1]:8080", "::1"},
                                   {"10.0.0.7:1", "10.0.0.7"},
                                   {"https://example.org", "example.org"},
                                   {"https://Example.org:8080/path?x", "example.org"},
                                   {"example.org/", "example.org"},
                                   {"example.org:", "example.org"}}) {
    const auto parsed = ParseHostName(text);
    ASSERT_FALSE(parsed.ok()) << *parsed;
    EXPECT_TRUE(Message(parsed.status()).ends_with(fmt::format("write {}", name)))
        << parsed.status();
  }
}

TEST(SiteCheck, RefusesANameThatWouldMatchNothing) {
  for (const std::string text :
       {"", ".", "..", "a..b", ".example.org", "*.example.org", "a b", "a.example,b.example",
        "b\xc3\xbc"
        "cher.example",
        "user@host", "https://", ":8080"}) {
    const auto parsed = ParseHostName(text);
    ASSERT_FALSE(parsed.ok()) << *parsed;
    EXPECT_THAT(Message(parsed.status()), HasSubstr("such as gp.example.org")) << text;
  }
}

TEST(SiteCheck, TakesAnOriginInEveryForm) {
  for (const auto& [text, origin] : {std::pair("https://site.example", "https://site.example"),
                                     {"HTTPS://Site.example/", "https://site.example"},
                                     {"https://site.example:443", "https://site.example"},
                                     {"http://site.example:80/", "http://site.example"},
                                     {"http://site.example:443", "http://site.example:443"},
                                     {"http://[::1]:3000", "http://[::1]:3000"},
                                     {"http://127.0.0.1:80", "http://127.0.0.1"},
                                     {"chrome-extension://abc", "chrome-extension://abc"},
                                     {"null", "null"},
                                     {"*", "*"}}) {
    const auto parsed = ParseOrigin(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, origin);
  }
}

TEST(SiteCheck, RefusesAnOriginThatWouldMatchNothing) {
  for (const char* text : {"",
                           "site.example",
                           "site.example:443",
                           "https://",
                           "://site.example",
                           "*://site.example",
                           "https://*.example",
                           "https://site.example/path",
                           "https://site.example//",
                           "https://site.example:",
                           "https://site.example:x",
                           "https://user@site.example",
                           "https://site.example:99999",
                           "https://site.example:65536",
                           "https://site.example:0",
                           "https://site.example:08443",
                           "https://site.example:-1",
                           "https://:8443",
                           "https://:443",
                           "http://",
                           "https://[::1",
                           "https://[]",
                           "https://[]:8443",
                           "https://[site.example]",
                           "https://::1",
                           "https://[::1]x",
                           "https://[::1]8443",
                           "https://a.example,https://b.example",
                           "https://a.example https://b.example"}) {
    const auto parsed = ParseOrigin(text);
    ASSERT_FALSE(parsed.ok()) << *parsed;
    EXPECT_THAT(Message(parsed.status()), HasSubstr("write one as https://site.example")) << text;
  }
}

TEST(SiteCheck, AForwardedHostDoesNotStandForHost) {
  const SiteRules rules{.checks_host = true, .allowed_hosts = {"gp.example"}};
  for (const char* forwarded : {"localhost", "127.0.0.1", "gp.example"}) {
    const Request request{.headers = {{"host", "evil.example"}, {"x-forwarded-host", forwarded}}};
    EXPECT_TRUE(RefusedHost(rules, request)) << forwarded;
  }
}

TEST(SiteCheck, TellsWhoRunsAProxyWhatItMustPassOn) {
  const SiteRules rules{.checks_host = true};
  const auto host = RefusedHost(rules, {.headers = {{"host", "gp_upstream"}}});
  ASSERT_TRUE(host);
  EXPECT_THAT(host->message, HasSubstr("start it with --allowed-host gp_upstream;"));
  EXPECT_THAT(host->message, HasSubstr("proxy_set_header Host $host;"));
  const auto origin = RefusedOrigin(
      rules, {.headers = {{"host", "gp_upstream"}, {"origin", "http://gp.example:8080"}}});
  ASSERT_TRUE(origin);
  EXPECT_THAT(origin->message, HasSubstr("proxy_set_header Host $http_host;"));
  EXPECT_THAT(origin->message, HasSubstr("X-Forwarded-Host"));
  // A name that the flag would not accept is not suggested.
  const auto nameless = RefusedHost(rules, {.headers = {{"host", "a b"}}});
  ASSERT_TRUE(nameless);
  EXPECT_THAT(nameless->message, ::testing::Not(HasSubstr("start it")));
}

TEST(SiteCheck, AHiddenOriginIsNotToldToBeAllowed) {
  const auto refused = RefusedOrigin({}, {.headers = {{"host", "here"}, {"origin", "null"}}});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 403);
  EXPECT_THAT(refused->message, ::testing::Not(HasSubstr("--cors-origin")));
}

TEST(SiteCheck, RefusesAHostThatCouldBeTwoNames) {
  const auto status = [](const Headers& headers) {
    const auto refused = RefusedHost({.checks_host = true}, {.headers = headers});
    return refused ? refused->status : 200;
  };
  for (const char* unclear : {"127.0.0.1:80.evil.com", "localhost:x", "127.0.0.1:80:90",
                              "[::1]evil.com", "[::1]:80.evil.com", "[::1", "127.0.0.1:123456"}) {
    EXPECT_EQ(status({{"host", unclear}}), 400) << unclear;
  }
  EXPECT_EQ(status({{"host", "127.0.0.1"}, {"host", "evil.com"}}), 400);
  for (const char* clear : {"127.0.0.1", "127.0.0.1:", "127.0.0.1:80", "[::1]", "[::1]:80"}) {
    EXPECT_EQ(status({{"host", clear}}), 200) << clear;
  }
}

TEST(SiteCheck, OtherSitesMayLinkToPagesAndEmbedNothing) {
  const auto refused = [](const SiteRules& rules, const std::string& site,
                          const std::string& mode) {
    return RefusedOrigin(rules, {.headers = {{"sec-fetch-site", site}, {"sec-fetch-mode", mode}}})
        .has_value();
  };
  for (const std::string site : {"cross-site", "same-site"}) {
    EXPECT_TRUE(refused({}, site, "no-cors")) << site;
    EXPECT_TRUE(refused({.cors_origins = {"https://app.example"}}, site, "no-cors")) << site;
    EXPECT_FALSE(refused({.cors_origins = {"*"}}, site, "no-cors")) << site;
    EXPECT_FALSE(refused({}, site, "navigate")) << "a link; " << site;
  }
  for (const std::string site : {"same-origin", "none"}) {
    EXPECT_FALSE(refused({}, site, "no-cors")) << site;
  }
  for (const char* frame : {"iframe", "embed", "object"}) {
    EXPECT_TRUE(RefusedOrigin({}, {.headers = {{"sec-fetch-site", "cross-site"},
                                               {"sec-fetch-mode", "navigate"},
                                               {"sec-fetch-dest", frame}}}))
        << frame;
  }
  EXPECT_FALSE(RefusedOrigin({}, {})) << "not a browser";
}

}  // namespace
}  // namespace gp::http
