#include "daemon/metrics_exposer.h"

#include <prometheus/exposer.h>
#include <prometheus/registry.h>

#include <exception>
#include <utility>

#include "rpc/listen_address.h"

namespace gp::daemon {

StatusOr<std::unique_ptr<MetricsExposer>> MetricsExposer::Start(
    const std::string& listen, const std::shared_ptr<prometheus::Registry>& registry) {
  ASSIGN_OR_RETURN(const auto wanted, rpc::ParseListenAddress(listen));
  RETURN_IF_ERROR(WithContext(rpc::CheckBindable(wanted), "metrics.listen"));
  // The library tells a bind that failed by an exception only.
  try {
    auto exposer = std::make_unique<prometheus::Exposer>(wanted.Text(), 1);
    exposer->RegisterCollectable(registry);
    rpc::ListenAddress taken = wanted.Reachable();
    taken.port = exposer->GetListeningPorts().front();
    return std::unique_ptr<MetricsExposer>(
        new MetricsExposer(std::move(exposer), registry, taken.Text()));
  } catch (const std::exception& error) {
    return FailedPrecondition("metrics.listen {}: {}", listen, error.what());
  }
}

MetricsExposer::MetricsExposer(std::unique_ptr<prometheus::Exposer> exposer,
                               std::shared_ptr<prometheus::Registry> registry, std::string address)
    : registry_(std::move(registry)), exposer_(std::move(exposer)), address_(std::move(address)) {}

MetricsExposer::~MetricsExposer() = default;

}  // namespace gp::daemon
