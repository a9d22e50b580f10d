#include "client/gateway/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/gateway/metrics.h"
#include "client/gateway/served_checkpoint_files.h"
#include "daemon/settings_reader.h"
#include "lib/base/temporary_directory.h"
#include "lib/daemon/shipped_settings.h"

namespace gp::gateway {
namespace {

using ::testing::HasSubstr;

std::vector<ConfigProblem> Read(const std::string& text, GatewaySettings& settings) {
  return daemon::ReadSettingsFile(text, "gateway.yaml", SettingsTable(settings));
}

TEST(GatewaySettings, TheFileShowsEveryKeyAtItsDefault) {
  const auto text = ReadFile(daemon::ShippedPath("gateway.yaml"));
  ASSERT_TRUE(text.ok()) << text.status();
  GatewaySettings settings{.listen = "?", .connections_max = 1};
  settings.stop_grace = settings.scan_period = settings.request_timeout = std::chrono::hours(9);
  settings.sampler_start_timeout = settings.sampler_stall_timeout = std::chrono::hours(9);
  settings.header_timeout = settings.body_timeout = settings.idle_timeout = std::chrono::hours(9);
  settings.ping_period = std::chrono::hours(9);
  settings.metrics_listen = settings.tls_certificate = settings.tls_key = settings.keys_file = "?";
  settings.coordinator = settings.sampler_program = settings.sampler_precision = "?";
  settings.coordinator_ca = settings.coordinator_token_file = settings.metrics_keys_file = "?";
  settings.cors_origins = settings.allowed_hosts = settings.directories = {"?"};
  settings.sampler_threads = settings.sampler_streams = settings.requests_waiting_max = 77;
  settings.sampler_memory_limit = settings.body_bytes_max = 77;
  settings.insecure = settings.metrics_public = true;
  settings.log_requests = false;
  EXPECT_EQ(RenderProblems(Read(*text, settings)), "");
  EXPECT_EQ(settings, GatewaySettings());
  daemon::ExpectShowsEverySetting("gateway.yaml", SettingsTable(settings));
}

TEST(GatewaySettings, OtherMachinesNeedKeysAndTlsOrAWord) {
  GatewaySettings settings{.listen = "0.0.0.0:1"};
  EXPECT_THAT(Message(CheckSettings(settings)), HasSubstr("--insecure"));
  settings.keys_file = "keys";
  EXPECT_FALSE(CheckSettings(settings).ok());
  settings.tls_certificate = settings.tls_key = "pem";
  EXPECT_TRUE(CheckSettings(settings).ok());
  EXPECT_TRUE(CheckSettings({.listen = "0.0.0.0:1", .insecure = true}).ok());
  EXPECT_TRUE(CheckSettings({}).ok());
}

TEST(GatewaySettings, OtherMachinesReadTheMetricsOverTlsAlone) {
  GatewaySettings settings{.metrics_listen = "0.0.0.0:1"};
  EXPECT_THAT(Message(CheckSettings(settings)), HasSubstr("metrics.public"));
  settings.metrics_public = true;
  EXPECT_THAT(Message(CheckSettings(settings)), HasSubstr("tls.certificate"));
  settings.tls_certificate = settings.tls_key = "pem";
  EXPECT_TRUE(CheckSettings(settings).ok());
}

TEST(GatewaySettings, WhatDoesNotFitTogetherIsRefused) {
  EXPECT_FALSE(CheckSettings({.tls_certificate = "pem"}).ok());
  EXPECT_FALSE(CheckSettings({.directories = {"no-directory"}}).ok());
  EXPECT_FALSE(CheckSettings({.listen = "unix:/tmp/x"}).ok());
  GatewaySettings remote{.coordinator = "gp.example.org:7070", .coordinator_token_file = "token"};
  EXPECT_THAT(Message(CheckSettings(remote)), HasSubstr("--coordinator-ca"));
  remote.coordinator_ca = "ca.crt";
  EXPECT_TRUE(CheckSettings(remote).ok());
  EXPECT_TRUE(CheckSettings({.coordinator = "unix:/s", .coordinator_token_file = "token"}).ok());
}

TEST(GatewaySettings, TheNameInHostIsCheckedWhereABrowserOfThisMachineNeedsNoKey) {
  EXPECT_TRUE(SiteRulesOf({}).checks_host);
  EXPECT_TRUE(SiteRulesOf({.listen = "[::1]:0"}).checks_host);
  EXPECT_FALSE(SiteRulesOf({.keys_file = "keys"}).checks_host);
  EXPECT_FALSE(SiteRulesOf({.listen = "0.0.0.0:1", .insecure = true}).checks_host);
  const http::SiteRules rules =
      SiteRulesOf({.listen = "0.0.0.0:1", .allowed_hosts = {"gp.example"}});
  EXPECT_TRUE(rules.checks_host);
  EXPECT_EQ(rules.allowed_hosts, std::vector<std::string>{"gp.example"});
}

TEST(GatewaySettings, NamesAndOriginsAreComparedInTheFormThatBrowsersSend) {
  const GatewaySettings settings{.cors_origins = {"HTTPS://Site.example:443/", "*"},
                                 .allowed_hosts = {"Example.ORG.", "[::1]", "*"}};
  EXPECT_TRUE(CheckSettings(settings).ok());
  const http::SiteRules rules = SiteRulesOf(settings);
  EXPECT_EQ(rules.cors_origins, (std::vector<std::string>{"https://site.example", "*"}));
  EXPECT_EQ(rules.allowed_hosts, (std::vector<std::string>{"example.org", "::1", "*"}));
}

TEST(GatewaySettings, ANameOrAnOriginThatWouldMatchNothingIsRefused) {
  EXPECT_EQ(Message(CheckSettings({.allowed_hosts = {"fine.example", "example.org:8080"}})),
            "server.allowed_hosts: 'example.org:8080' is more than a name, and Host is compared "
            "without a port; write example.org");
  EXPECT_THAT(Message(CheckSettings({.cors_origins = {"site.example"}})),
              HasSubstr("cors.origins: 'site.example' is not an origin"));
}

TEST(GatewaySettings, EveryDirectoryOfModelsMustHoldACheckpoint) {
  TemporaryDirectory files;
  WriteCheckpoint(files.File("good"));
  EXPECT_TRUE(CheckModels({.directories = {"good=" + files.File("good")}}).ok());
  const Status missing =
      CheckModels({.directories = {"good=" + files.File("good"), "bad=" + files.File("bad")}});
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(missing), HasSubstr("models.directories: bad=" + files.File("bad") + ": "));
}

TEST(GatewayMetrics, ListsWhatItExports) {
  const std::string list = GatewayMetrics::List("1.2.3");
  for (const char* name :
       {"gp_build_info{component=\"gateway\"", "gp_gateway_requests_total",
        "gp_gateway_request_duration_seconds", "gp_gateway_time_to_first_token_seconds",
        "gp_gateway_inter_token_latency_seconds", "gp_gateway_tokens_total",
        "gp_gateway_requests_in_progress", "gp_gateway_models_loaded",
        "gp_gateway_sampler_restarts_total", "gp_gateway_requests_cancelled_total"}) {
    EXPECT_THAT(list, HasSubstr(name));
  }
}

}  // namespace
}  // namespace gp::gateway
