// A client on a plain socket, for tests that control exactly which bytes are sent and when. Blocks
// for at most kPatience. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace gp::http {

struct Answer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;

  std::string Header(std::string_view name) const;
  // The data lines of the event stream in the body.
  std::vector<std::string> Events() const;
};

class HttpClient {
 public:
  // `receive_bytes`: the size of the receive buffer, for a client that does not read; 0: the
  // kernel's default.
  explicit HttpClient(int port, int receive_bytes = 0);

  void Send(std::string_view bytes);
  // Sends a whole request with Content-Length, and with a Host unless `headers` have one.
  void Request(const std::string& method, const std::string& target, std::string_view body = "",
               const std::string& headers = "");
  // The next answer; its status is 0 if the server closed before its end. `head`: it has no body.
  Answer Receive(bool head = false);
  // Reads up to `bytes` from the socket; the next Receive returns them as part of its answer.
  void ReceiveSome(size_t bytes);
  // Receives only the head of the next answer.
  Answer ReceiveHead();
  // The next event or comment, unparsed, of a stream whose head was received; nullopt at the end of
  // the stream.
  std::optional<std::string> NextBlock();
  // The next event of a stream whose head was received; nullopt at the end of the stream. Skips
  // comments.
  std::optional<std::string> NextEvent();
  // Reads the rest of the answer; returns whether the server then closed the connection.
  bool Closed();

  void HalfClose();
  void Close() { socket_.Close(); }

 private:
  bool Fill(size_t bytes_max = 16384);
  std::optional<std::string> TakeLine();
  bool TakeChunk(std::string& body);
  std::string Take(size_t bytes);

  FileDescriptor socket_;
  std::string received_;
  std::string events_;
  bool chunked_ = false;
  bool stream_over_ = false;
};

// Sends one request on a new connection and returns the answer.
Answer Ask(int port, const std::string& method, const std::string& target,
           std::string_view body = "", const std::string& headers = "");

}  // namespace gp::http
