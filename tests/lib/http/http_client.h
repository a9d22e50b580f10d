// A client over a plain socket, byte by byte, for tests that control exactly what is sent and when.
// Blocks for at most kPatience. Used by one thread at a time.
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
  // The data lines of an event stream.
  std::vector<std::string> Events() const;
};

class HttpClient {
 public:
  // `receive_bytes`: the receive buffer for a client that does not read; 0: the kernel's default.
  explicit HttpClient(int port, int receive_bytes = 0);

  void Send(std::string_view bytes);
  // A whole request with Content-Length, and a Host unless `headers` have one.
  void Request(const std::string& method, const std::string& target, std::string_view body = "",
               const std::string& headers = "");
  // The next answer, whole; status 0 when the server closed before its end. `head`: it has no body.
  Answer Receive(bool head = false);
  // Takes up to `bytes` off the socket; the next Receive returns them, too.
  void ReceiveSome(size_t bytes);
  // Only its head.
  Answer ReceiveHead();
  // The next event or comment of a stream whose head was received, unparsed; nullopt at the end of
  // the stream.
  std::optional<std::string> NextBlock();
  // The next event of a stream whose head was received; nullopt at the end of the stream. Comments
  // are skipped.
  std::optional<std::string> NextEvent();
  // Whether the server closed, after reading the rest of its answer.
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

// One request on a connection of its own.
Answer Ask(int port, const std::string& method, const std::string& target,
           std::string_view body = "", const std::string& headers = "");

}  // namespace gp::http
