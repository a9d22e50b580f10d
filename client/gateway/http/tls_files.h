// TlsFiles: the gateway's certificate and key, read again when the files change, so that a renewed
// certificate needs no restart. Used in the loop.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"
#include "client/gateway/http/event_loop.h"
#include "client/gateway/http/transport.h"
#include "client/gateway/http/work_pool.h"

namespace gp::gateway {

class TlsFiles {
 public:
  // Reads them. Errors as of TlsContext::Read.
  static StatusOr<std::unique_ptr<TlsFiles>> Open(const std::string& certificate,
                                                  const std::string& key);

  // From now on the files are read again when one has changed. A pair that cannot be used, such as
  // a new certificate with the key before it, leaves everything as it is and is logged once.
  void Watch(EventLoop& loop, WorkPool& pool, std::chrono::nanoseconds period);

  // Stays where it is; what it holds is the newest pair that could be used.
  TlsContext& context() { return *context_; }

 private:
  struct Reading;

  TlsFiles(std::string certificate, std::string key)
      : certificate_(std::move(certificate)), key_(std::move(key)) {}
  void Reread(WorkPool& pool);

  const std::string certificate_;
  const std::string key_;
  std::unique_ptr<TlsContext> context_;
  std::string stamp_;    // identifies the content that was read
  std::string problem_;  // that the last reading met
  bool reading_ = false;
  std::unique_ptr<Timer> timer_;
};

}  // namespace gp::gateway
