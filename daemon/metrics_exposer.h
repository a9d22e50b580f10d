// MetricsExposer: the HTTP endpoint where Prometheus scrapes a daemon. Serves from threads of its
// own from Start until destruction.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace prometheus {
class Exposer;
class Collectable;
}  // namespace prometheus

namespace gp::daemon {

class MetricsExposer {
 public:
  // `listen` is HOST:PORT. Every scrape calls `metrics`. An error names it and what to do.
  static StatusOr<std::unique_ptr<MetricsExposer>> Start(
      const std::string& listen, const std::shared_ptr<prometheus::Collectable>& metrics);
  // Does not wait for the listener's next look around, which is up to two seconds away.
  ~MetricsExposer();
  MetricsExposer(const MetricsExposer&) = delete;
  MetricsExposer& operator=(const MetricsExposer&) = delete;

  // HOST:PORT for clients on this machine, with the real port.
  const std::string& address() const { return address_; }

 private:
  MetricsExposer(std::unique_ptr<prometheus::Exposer> exposer,
                 std::shared_ptr<prometheus::Collectable> metrics, std::string address);

  const std::shared_ptr<prometheus::Collectable> metrics_;  // the exposer does not keep it
  std::unique_ptr<prometheus::Exposer> exposer_;
  const std::string address_;
};

}  // namespace gp::daemon
