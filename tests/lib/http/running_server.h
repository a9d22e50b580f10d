// A server on its own thread, for tests. Handlers run on that thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>

#include "http/server.h"
#include "lib/http/in_loop.h"

namespace gp::http {

class RunningServer {
 public:
  // Runs `call` in the loop and waits for it.
  template <typename Call>
  auto InLoop(Call call) {
    return http::InLoop(loop_, std::move(call));
  }

  explicit RunningServer(ServerContext context, const TlsContext* tls = nullptr) {
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

}  // namespace gp::http
