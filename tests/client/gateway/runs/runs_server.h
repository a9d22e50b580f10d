// RunsServer: a server with the routes of RunsApi, for tests. Used by one thread.
#pragma once

#include <optional>
#include <string>

#include "client/gateway/http_client.h"
#include "client/gateway/running_server.h"
#include "client/gateway/runs/runs_api.h"

namespace gp::gateway {

class RunsServer {
 public:
  explicit RunsServer(const std::string& coordinator, const ServerLimits& limits = {})
      : server_(ServerContext{.router = router_, .limits = limits}) {
    RunsApiOptions options;
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
  RunningServer& server() { return server_; }
  int port() const { return server_.port(); }
  Answer Get(const std::string& target) { return Ask(port(), "GET", target); }

 private:
  Router router_;
  std::optional<RunsApi> api_;
  RunningServer server_;
};

}  // namespace gp::gateway
