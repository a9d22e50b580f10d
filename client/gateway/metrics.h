// GatewayMetrics: the numbers of gp-gateway for Prometheus. Logic calls these methods and never the
// metrics library. Thread-safe; owned by the daemon.
#pragma once

#include <memory>
#include <string>

#include "client/gateway/models/model_pool.h"
#include "http/server_options.h"

namespace prometheus {
class Collectable;
}

namespace gp::gateway {

class GatewayMetrics {
 public:
  explicit GatewayMetrics(const std::string& version);
  ~GatewayMetrics();
  GatewayMetrics(const GatewayMetrics&) = delete;
  GatewayMetrics& operator=(const GatewayMetrics&) = delete;

  // Counts a request. Tokens are counted only for requests that got a first token.
  void Finished(const http::ExchangeRecord& record);
  // Records the current state; the daemon calls it each second and before it answers GET /metrics.
  void Observe(const PoolCounts& counts, int connections, size_t models);

  std::shared_ptr<prometheus::Collectable> page() const;
  // All metrics in Prometheus' text exposition format.
  std::string Text() const;
  // Every metric that the program can export, in the same format (--print-metrics).
  static std::string List(const std::string& version);

 private:
  struct Families;

  const std::unique_ptr<Families> families_;
};

}  // namespace gp::gateway
