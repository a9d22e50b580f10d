// Receiver: an HTTP server on loopback whose answers a test decides, byte by byte. Each connection
// is handled by `answer` on the receiver's thread. Thread-safe.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace gp::coordinator {

class Receiver {
 public:
  // Writes to the connection, which is closed afterwards. `request`: its head and its body.
  using Answer = std::function<void(int connection, const std::string& request)>;

  // Whether it reads the request before it answers.
  enum class Reads { kRequest, kNothing };

  explicit Receiver(Answer answer, Reads reads = Reads::kRequest)
      : answer_(std::move(answer)), reads_(reads) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    socklen_t length = sizeof address;
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~Receiver() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  // Answers every request with this status line and body.
  static Answer Always(const std::string& status, const std::string& body = "",
                       const std::string& headers = "") {
    return [=](int connection, const std::string&) {
      Send(connection, "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
                           "\r\nConnection: close\r\n" + headers + "\r\n" + body);
    };
  }
  // False when the other side has closed the connection.
  static bool Send(int connection, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Waits until the other side closes the connection.
  static void AwaitClose(int connection) {
    char byte = 0;
    while (recv(connection, &byte, 1, 0) > 0) continue;
  }

  std::string url(const std::string& host = "127.0.0.1") const {
    return "http://" + host + ":" + std::to_string(port_) + "/hook/s3cret-path";
  }
  std::vector<std::string> requests() const {
    MutexLock lock(mutex_);
    return requests_;
  }

 private:
  static std::string ReadRequest(int connection) {
    std::string request;
    char buffer[4096];
    while (true) {
      const size_t head = request.find("\r\n\r\n");
      const size_t length = request.find("Content-Length: ");
      if (head != std::string::npos && length != std::string::npos) {
        const size_t body = std::stoul(request.substr(length + 16));
        if (request.size() >= head + 4 + body) return request;
      }
      const ssize_t got = recv(connection, buffer, sizeof buffer, 0);
      if (got <= 0) return request;
      request.append(buffer, static_cast<size_t>(got));
    }
  }

  void Serve() {
    while (true) {
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      const std::string request =
          reads_ == Reads::kRequest ? ReadRequest(connection) : std::string();
      {
        MutexLock lock(mutex_);
        requests_.push_back(request);
      }
      answer_(connection, request);
      close(connection);
    }
  }

  const Answer answer_;
  const Reads reads_;
  int listener_ = -1;
  int port_ = 0;
  mutable Mutex mutex_;
  std::vector<std::string> requests_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace gp::coordinator
