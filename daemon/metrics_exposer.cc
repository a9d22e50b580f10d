#include "daemon/metrics_exposer.h"

#include <netdb.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "base/file.h"
#include "rpc/listen_address.h"

namespace gp::daemon {
namespace {

constexpr std::chrono::milliseconds kKnockPeriod{5};

// The library's listener looks whether it is to end every two seconds, and whenever a client comes.
void Knock(const rpc::ListenAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found) != 0) return;
  const FileDescriptor client(
      socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  (void)connect(client.get(), found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
}

}  // namespace

StatusOr<std::unique_ptr<MetricsExposer>> MetricsExposer::Start(
    const std::string& listen, const std::shared_ptr<prometheus::Collectable>& metrics) {
  ASSIGN_OR_RETURN(const auto wanted, rpc::ParseListenAddress(listen));
  RETURN_IF_ERROR(WithContext(rpc::CheckBindable(wanted), "metrics.listen"));
  // The library reports a failed bind with an exception only.
  try {
    auto exposer = std::make_unique<prometheus::Exposer>(wanted.Text(), 1);
    exposer->RegisterCollectable(metrics);
    rpc::ListenAddress taken = wanted.Reachable();
    taken.port = exposer->GetListeningPorts().front();
    return std::unique_ptr<MetricsExposer>(
        new MetricsExposer(std::move(exposer), metrics, taken.Text()));
  } catch (const std::exception& error) {
    return FailedPrecondition("metrics.listen {}: {}", listen, error.what());
  }
}

MetricsExposer::MetricsExposer(std::unique_ptr<prometheus::Exposer> exposer,
                               std::shared_ptr<prometheus::Collectable> metrics,
                               std::string address)
    : metrics_(std::move(metrics)), exposer_(std::move(exposer)), address_(std::move(address)) {}

MetricsExposer::~MetricsExposer() {
  const std::jthread knocking([this](const std::stop_token& stop) {
    const auto address = rpc::ParseListenAddress(address_);
    while (address.ok() && !stop.stop_requested()) {
      Knock(*address);
      std::this_thread::sleep_for(kKnockPeriod);
    }
  });
  exposer_.reset();
}

}  // namespace gp::daemon
