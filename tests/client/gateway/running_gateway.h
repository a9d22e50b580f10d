// RunningGateway: the gateway's routes for models and texts, with the fake sampler, in a thread of
// its own; not the whole daemon.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "client/gateway/completions/completion_routes.h"
#include "client/gateway/served_checkpoint_files.h"
#include "lib/base/temporary_directory.h"
#include "lib/http/full_pool.h"
#include "lib/http/http_client.h"
#include "lib/http/in_loop.h"
#include "lib/http/running_server.h"

namespace gp::gateway {

class RunningGateway {
 public:
  static constexpr size_t kBodyBytesMax = 10 << 20;

  static ModelPoolOptions FakePool() {
    ModelPoolOptions options;
    options.command = {.program = GP_FAKE_SAMPLER, .version = "test"};
    options.streams = 4;
    options.memory_bytes_max = 100;
    options.tick = std::chrono::milliseconds(10);
    options.memory_bytes = [](const CheckpointFacts&) { return 10; };
    return options;
  }

  // Runs `call` in the loop, waits for it and returns its result.
  template <typename Call>
  auto InLoop(Call call) {
    return http::InLoop(loop_, std::move(call));
  }

  RunningGateway(ModelPoolOptions pool, std::vector<NamedDirectory> directories)
      : RunningGateway({.pool = std::move(pool), .directories = std::move(directories)}) {}
  explicit RunningGateway(ModelServiceOptions options) : thread_([this] { loop_.Run(); }) {
    InLoop([&] {
      options.scan_period = std::chrono::milliseconds(20);
      models_ = std::make_unique<ModelService>(loop_, work_, std::move(options));
      AddCompletionRoutes(*models_, work_, kBodyBytesMax, router_);
      AddTokenizerRoutes(*models_, work_, kBodyBytesMax, router_);
      AddModelRoutes(*models_, router_);
      router_.Add(
          {"GET", "/livez", [](const auto& exchange) { exchange->Respond({.body = "ok"}); }});
      auto server = http::Server::Start(loop_, {}, {.router = router_}, nullptr);
      EXPECT_TRUE(server.ok()) << server.status();
      server_ = *std::move(server);
    });
  }

  // As in the daemon, the loop ends first, so that no pending call uses a destroyed object.
  ~RunningGateway() {
    loop_.Stop();
    thread_.join();
    server_.reset();
    models_.reset();
  }

  int port() const { return server_->port(); }
  ModelService& models() { return *models_; }

  http::Answer Post(const std::string& target, const std::string& body) {
    return http::Ask(port(), "POST", target, body);
  }
  // The CPU time that the loop's thread spends during `call`, whatever the machine's load is.
  template <typename Call>
  std::chrono::nanoseconds LoopTimeOf(Call call) {
    return http::LoopTimeOf(loop_, std::move(call));
  }
  http::FullPool FillWorkPool() { return {loop_, work_}; }
  PoolCounts Counts() {
    return InLoop([this] { return models_->pool().Counts(); });
  }

 private:
  http::EventLoop loop_;
  http::OffloadPool work_{loop_, {}};
  std::unique_ptr<ModelService> models_;
  http::Router router_;
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

}  // namespace gp::gateway
