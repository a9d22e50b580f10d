#include "lib/http/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "lib/base/eventually.h"

namespace gp::http {

std::string Answer::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

std::vector<std::string> Answer::Events() const {
  std::vector<std::string> events;
  for (size_t begin = 0; (begin = body.find("data: ", begin)) != std::string::npos;) {
    const size_t end = body.find("\n\n", begin);
    events.push_back(body.substr(begin + 6, end - begin - 6));
    begin = end;
  }
  return events;
}

HttpClient::HttpClient(int port, int receive_bytes)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_bytes > 0) {
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int failed = connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  EXPECT_EQ(failed, 0) << "connect to port " << port;
}

void HttpClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server closed the connection; its answer can still be read
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

void HttpClient::Request(const std::string& method, const std::string& target,
                         std::string_view body, const std::string& headers) {
  std::string text = method + " " + target + " HTTP/1.1\r\n" + headers;
  if (headers.find("Host: ") == std::string::npos) text += "Host: test\r\n";
  if (!body.empty()) text += fmt::format("Content-Length: {}\r\n", body.size());
  Send(text + "\r\n" + std::string(body));
}

bool HttpClient::Fill(size_t bytes_max) {
  pollfd readable{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kPatience).count();
  if (poll(&readable, 1, static_cast<int>(patience)) != 1) {
    ADD_FAILURE() << "the server says nothing";
    return false;
  }
  std::string bytes(bytes_max, '\0');
  const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  received_.append(bytes, 0, static_cast<size_t>(got));
  return true;
}

void HttpClient::ReceiveSome(size_t bytes) { Fill(bytes); }

std::optional<std::string> HttpClient::TakeLine() {
  while (true) {
    const size_t end = received_.find("\r\n");
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 2);
      return line;
    }
    if (!Fill()) return std::nullopt;
  }
}

std::string HttpClient::Take(size_t bytes) {
  while (received_.size() < bytes && Fill()) {
  }
  std::string taken = received_.substr(0, bytes);
  received_.erase(0, taken.size());
  return taken;
}

Answer HttpClient::ReceiveHead() {
  Answer answer;
  const auto first = TakeLine();
  if (!first || first->size() < 12) return answer;
  const int status = std::atoi(first->substr(9, 3).c_str());
  while (const auto line = TakeLine()) {
    if (line->empty()) {
      answer.status = status;
      break;
    }
    const size_t colon = line->find(": ");
    std::string name = line->substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    answer.headers.emplace_back(std::move(name), line->substr(colon + 2));
  }
  chunked_ = answer.Header("transfer-encoding") == "chunked";
  stream_over_ = false;
  events_.clear();
  return answer;
}

bool HttpClient::TakeChunk(std::string& body) {
  const auto line = TakeLine();
  if (!line) return false;
  const size_t bytes = std::stoul(*line, nullptr, 16);
  body += Take(bytes);
  Take(2);
  return bytes > 0;
}

Answer HttpClient::Receive(bool head) {
  Answer answer = ReceiveHead();
  if (answer.status == 100) return Receive(head);
  if (answer.status == 0 || head) return answer;
  if (chunked_) {
    while (TakeChunk(answer.body)) {
    }
  } else if (const std::string length = answer.Header("content-length"); !length.empty()) {
    answer.body = Take(std::stoul(length));
  }
  return answer;
}

std::optional<std::string> HttpClient::NextBlock() {
  size_t end = 0;
  while ((end = events_.find("\n\n")) == std::string::npos) {
    if (stream_over_) return std::nullopt;
    stream_over_ = !TakeChunk(events_);
  }
  std::string block = events_.substr(0, end);
  events_.erase(0, end + 2);
  return block;
}

std::optional<std::string> HttpClient::NextEvent() {
  while (const auto block = NextBlock()) {
    if (block->starts_with("data: ")) return block->substr(6);
    EXPECT_EQ(*block, ": ping");
  }
  return std::nullopt;
}

bool HttpClient::Closed() {
  while (Fill()) {
  }
  return !::testing::Test::HasFailure();
}

void HttpClient::HalfClose() { shutdown(socket_.get(), SHUT_WR); }

Answer Ask(int port, const std::string& method, const std::string& target, std::string_view body,
           const std::string& headers) {
  HttpClient client(port);
  client.Request(method, target, body, headers);
  return client.Receive(method == "HEAD");
}

}  // namespace gp::http
