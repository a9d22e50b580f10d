// A server in a thread of its own, for tests. Handlers run in that thread.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "client/gateway/http/server.h"

namespace gp::gateway {

class RunningServer {
 public:
  // Calls it in the loop and waits for it.
  template <typename Call>
  auto InLoop(Call call) {
    // Shared: the loop may still be inside set_value when the waiter has gone on.
    const auto result = std::make_shared<std::promise<decltype(call())>>();
    loop_.Post([result, &call] {
      if constexpr (std::is_void_v<decltype(call())>) {
        call();
        result->set_value();
      } else {
        result->set_value(call());
      }
    });
    return result->get_future().get();
  }

  explicit RunningServer(ServerContext context, TlsContext* tls = nullptr) {
    auto started = Server::Start(loop_, {}, std::move(context), tls);
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~RunningServer() {
    loop_.Stop();
    thread_.join();
    server_.reset();
  }

  int port() const { return server_->port(); }
  EventLoop& loop() { return loop_; }
  Server& server() { return *server_; }

 private:
  EventLoop loop_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

}  // namespace gp::gateway
