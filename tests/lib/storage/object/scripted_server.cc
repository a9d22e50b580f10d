#include "lib/storage/object/scripted_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace gp::object {
namespace {

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char byte) { return static_cast<char>(std::tolower(byte)); });
  return text;
}

SeenRequest ParseHead(const std::string& head) {
  SeenRequest request;
  const size_t line_end = head.find("\r\n");
  const std::string line = head.substr(0, line_end);
  request.method = line.substr(0, line.find(' '));
  const size_t target = request.method.size() + 1;
  request.target = line.substr(target, line.rfind(' ') - target);
  for (size_t at = line_end + 2; at < head.size();) {
    const size_t end = std::min(head.find("\r\n", at), head.size());
    const std::string header = head.substr(at, end - at);
    const size_t colon = header.find(':');
    if (colon != std::string::npos) {
      const size_t value = header.find_first_not_of(' ', colon + 1);
      request.headers[Lower(header.substr(0, colon))] =
          value == std::string::npos ? "" : header.substr(value);
    }
    at = end + 2;
  }
  return request;
}

// False if the client went away first.
bool Receive(int fd, std::string& text) {
  char buffer[65536];
  const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
  if (got <= 0) return false;
  text.append(buffer, static_cast<size_t>(got));
  return true;
}

bool ReceiveRequest(int fd, SeenRequest& request) {
  std::string text;
  while (text.find("\r\n\r\n") == std::string::npos) {
    if (!Receive(fd, text)) return false;
  }
  const size_t head = text.find("\r\n\r\n") + 4;
  request = ParseHead(text.substr(0, head));
  const auto length = request.headers.find("content-length");
  const size_t size = length == request.headers.end() ? 0 : std::stoull(length->second);
  while (text.size() < head + size) {
    if (!Receive(fd, text)) return false;
  }
  request.body = text.substr(head, size);
  request.text = std::move(text);
  return true;
}

void SendAll(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t sent = send(fd, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    data.remove_prefix(static_cast<size_t>(sent));
  }
}

void Finish(int fd, ScriptedAnswer::End end) {
  if (end == ScriptedAnswer::End::kReset) {
    const linger at_once{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  } else if (end == ScriptedAnswer::End::kStall) {
    std::string rest;
    while (Receive(fd, rest)) {
    }
  }
}

}  // namespace

ScriptedAnswer Reply(int status, const std::string& body, const std::string& headers) {
  return {fmt::format("HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n{}",
                      status, body.size(), headers, body)};
}

ScriptedAnswer ErrorReply(int status, const std::string& code, const std::string& more) {
  return Reply(status, fmt::format("<?xml version=\"1.0\"?><Error><Code>{}</Code>"
                                   "<Message>{} it is</Message>{}</Error>",
                                   code, code, more));
}

ScriptedServer::ScriptedServer(Script script)
    : script_(std::move(script)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listener_.get(), any, size), 0);
  EXPECT_EQ(listen(listener_.get(), 64), 0);
  EXPECT_EQ(getsockname(listener_.get(), any, &size), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this] { Serve(); });
}

ScriptedServer::~ScriptedServer() {
  shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
  answers_.clear();
}

std::string ScriptedServer::host() const { return fmt::format("127.0.0.1:{}", port_); }

std::string ScriptedServer::origin() const { return "http://" + host(); }

std::vector<SeenRequest> ScriptedServer::seen() const {
  const MutexLock lock(mutex_);
  return seen_;
}

void ScriptedServer::Serve() {
  while (true) {
    FileDescriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) return;
    answers_.emplace_back([this, held = std::make_shared<FileDescriptor>(std::move(
                                     connection))]() mutable { Answer(std::move(*held)); });
  }
}

void ScriptedServer::Answer(FileDescriptor connection) {
  SeenRequest request;
  if (!ReceiveRequest(connection.get(), request)) return;
  ScriptedAnswer answer;
  {
    const MutexLock lock(mutex_);
    seen_.push_back(request);
  }
  {
    const MutexLock lock(script_mutex_);
    answer = script_(request);
  }
  SendAll(connection.get(), answer.bytes);
  Finish(connection.get(), answer.end);
}

}  // namespace gp::object
