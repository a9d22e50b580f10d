// TlsContext: the certificate of a server, in files that may be replaced while it serves.
// CertificateWatch: reads them again when they change. The context may be used from any thread, the
// watch from the loop alone.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"
#include "http/event_loop.h"
#include "http/offload_pool.h"

namespace boost::asio::ssl {
class context;
}

namespace gp::http {

struct TlsFiles {
  std::string certificate;   // PEM: the certificate, then those that signed it
  std::string key;           // PEM; may be the same file
  bool newest_only = false;  // TLS 1.3 only; otherwise also 1.2, for older clients
};

class TlsContext {
 public:
  // An error names the file and OpenSSL's reason.
  static StatusOr<std::shared_ptr<TlsContext>> Read(const TlsFiles& files);

  // Loads the current files for new connections; existing ones continue. On an error, as in Read,
  // the certificate stays. Blocks while it reads the files.
  Status Reread();

  // The context for a connection that begins now.
  std::shared_ptr<boost::asio::ssl::context> current() const;

 private:
  explicit TlsContext(TlsFiles files) : files_(std::move(files)) {}

  const TlsFiles files_;
  mutable Mutex mutex_;
  std::string text_ GUARDED_BY(mutex_);  // contents of the files, as read
  std::shared_ptr<boost::asio::ssl::context> current_ GUARDED_BY(mutex_);
};

class CertificateWatch {
 public:
  // Checks every `period`, on a thread of `pool`. An unusable file leaves the certificate as it is
  // and is logged once. `loop` and `pool` must outlive the watch.
  CertificateWatch(const std::shared_ptr<TlsContext>& tls, EventLoop& loop, OffloadPool& pool,
                   std::chrono::nanoseconds period);

 private:
  struct Look;

  const std::shared_ptr<Look> look_;
  const std::unique_ptr<Timer> timer_;
};

}  // namespace gp::http
