// HttpTransport: sends HTTP requests one at a time on each connection, over libcurl, and keeps
// connections open for the next requests. Nothing is retried and no redirect is followed here.
// Proxies are taken from the environment (http_proxy, https_proxy, no_proxy), as with curl.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "storage/object/signature.h"

namespace gp::object {

struct TransportOptions {
  std::string ca_file;     // PEM; empty: the system's authorities
  bool uses_proxy = true;  // false: no proxy, whatever the environment says
  std::chrono::milliseconds connect{10'000};
  std::chrono::seconds silence{30};          // less than 1 KiB/s for so long ends the attempt
  std::chrono::milliseconds total{120'000};  // of one attempt
};

struct HttpRequest {
  std::string method;
  std::string url;
  std::vector<Header> headers;
  std::string_view body;          // must outlive the call
  uint64_t answer_bytes_max = 0;  // of a success; errors have a limit of their own
};

struct HttpAnswer {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
  bool is_cut = false;  // the body was longer than answer_bytes_max

  // Empty if the answer does not have the header; `name` in lower case.
  std::string_view HeaderValue(std::string_view name) const;
};

class HttpTransport {
 public:
  explicit HttpTransport(TransportOptions options);
  ~HttpTransport();

  // The whole answer, with any HTTP status. Unavailable when no whole answer came, also when the
  // connection broke inside the body; DeadlineExceeded for an answer that took too long;
  // FailedPrecondition when trying again cannot help, such as a certificate that is not trusted.
  StatusOr<HttpAnswer> Perform(const HttpRequest& request) const;

 private:
  class Connection;

  std::unique_ptr<Connection> Take() const;
  void GiveBack(std::unique_ptr<Connection> connection) const;

  const TransportOptions options_;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<Connection>> idle_ GUARDED_BY(mutex_);
};

}  // namespace gp::object
