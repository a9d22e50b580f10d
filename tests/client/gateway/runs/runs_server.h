// RunsServer: a server with the routes of RunsApi, for tests. Used by one thread.
#pragma once

#include <optional>
#include <string>

#include "client/gateway/runs/runs_api.h"
#include "lib/http/http_client.h"
#include "lib/http/running_server.h"

namespace gp::gateway {

class RunsServer {
 public:
  explicit RunsServer(const std::string& coordinator, const http::ServerLimits& limits = {},
                      RunsApiOptions options = {}, bool has_keys = false)
      : server_(Context(limits, has_keys)) {
    options.board = {.address = coordinator,
                     .survey_pause = std::chrono::milliseconds(20),
                     .idle_pause = std::chrono::milliseconds(20),
                     .follow_pause = std::chrono::milliseconds(10),
                     .timeout = std::chrono::seconds(2)};
    options.stream_period = std::chrono::milliseconds(20);
    server_.InLoop([&] {
      api_.emplace(server_.loop(), options);
      api_->AddTo(router_);
    });
  }
  ~RunsServer() {
    server_.InLoop([this] { api_.reset(); });
  }

  RunsApi& api() { return *api_; }
  http::RunningServer& server() { return server_; }
  int port() const { return server_.port(); }
  // With keys, `Authorization: NAME` identifies the client NAME.
  http::Answer Get(const std::string& target) { return http::Ask(port(), "GET", target); }

 private:
  http::ServerContext Context(const http::ServerLimits& limits, bool has_keys) {
    http::ServerContext context{.router = router_, .limits = limits};
    if (!has_keys) return context;
    context.key_name = [](std::string_view name) { return std::optional(std::string(name)); };
    return context;
  }

  http::Router router_;
  std::optional<RunsApi> api_;
  http::RunningServer server_;
};

}  // namespace gp::gateway
