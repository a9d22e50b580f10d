// MetricsExposer: the HTTP endpoint where Prometheus scrapes a daemon (/metrics), and where a probe
// checks that the process answers (/livez), without a key. Serves from its own thread from Start
// until destruction.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/status.h"
#include "http/api_keys.h"
#include "http/event_loop.h"
#include "http/offload_pool.h"
#include "http/router.h"
#include "http/server.h"
#include "http/tls_context.h"

namespace prometheus {
class Collectable;
}

namespace gp::daemon {

struct MetricsPlace {
  std::string listen;                 // HOST:PORT
  std::optional<http::TlsFiles> tls;  // read again when they change; absent: plain HTTP
  std::string keys_file;              // keys of the readers (http/api_keys.h); empty: no key needed
};

class MetricsExposer {
 public:
  // Every scrape calls `metrics`. An error names its setting and what to do.
  static StatusOr<std::unique_ptr<MetricsExposer>> Start(
      const MetricsPlace& place, std::shared_ptr<prometheus::Collectable> metrics);
  ~MetricsExposer();
  MetricsExposer(const MetricsExposer&) = delete;
  MetricsExposer& operator=(const MetricsExposer&) = delete;

  // HOST:PORT for clients on this machine, with the real port.
  const std::string& address() const { return address_; }

 private:
  explicit MetricsExposer(std::shared_ptr<prometheus::Collectable> metrics);
  Status OpenFiles(const MetricsPlace& place);
  Status Listen(const std::string& listen);

  const std::shared_ptr<prometheus::Collectable> metrics_;
  std::string address_;
  http::EventLoop loop_;
  std::optional<http::OffloadPool> pool_;  // rereads changed key and certificate files
  std::unique_ptr<http::KeyFile> keys_;
  std::shared_ptr<http::TlsContext> tls_;
  std::optional<http::CertificateWatch> certificate_watch_;
  http::Router router_;
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

}  // namespace gp::daemon
