#include "daemon/metrics_exposer.h"

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <utility>

#include "rpc/listen_address.h"

namespace gp::daemon {
namespace {

constexpr std::chrono::seconds kFilesPeriod{1};  // between checks of the key and certificate files

// A scrape is one short request every few seconds.
constexpr http::ServerLimits kLimits{.connections_max = 64,
                                     .header_bytes_max = 8 << 10,
                                     .body_bytes_max = 1 << 10,
                                     .header_timeout = std::chrono::seconds(5),
                                     .body_timeout = std::chrono::seconds(5),
                                     .write_timeout = std::chrono::seconds(20),
                                     .tick = std::chrono::seconds(1)};

}  // namespace

StatusOr<std::unique_ptr<MetricsExposer>> MetricsExposer::Start(
    const MetricsPlace& place, std::shared_ptr<prometheus::Collectable> metrics) {
  std::unique_ptr<MetricsExposer> made(new MetricsExposer(std::move(metrics)));
  RETURN_IF_ERROR(made->OpenFiles(place));
  RETURN_IF_ERROR(WithContext(made->Listen(place.listen), "metrics.listen"));
  made->thread_ = std::thread([exposer = made.get()] { exposer->loop_.Run(); });
  return made;
}

MetricsExposer::MetricsExposer(std::shared_ptr<prometheus::Collectable> metrics)
    : metrics_(std::move(metrics)) {
  router_.Add({"GET", "/metrics", [this](const auto& exchange) {
                 exchange->Respond(
                     {.body = prometheus::TextSerializer().Serialize(metrics_->Collect()),
                      .content_type = "text/plain; version=0.0.4; charset=utf-8"});
               }});
  // Needs no key, so that probes can call it: it only shows that the process answers.
  router_.Add({"GET", "/livez",
               [](const auto& exchange) {
                 exchange->Respond({.body = "ok\n", .content_type = "text/plain; charset=utf-8"});
               },
               /*open=*/true});
}

MetricsExposer::~MetricsExposer() {
  loop_.Stop();
  if (thread_.joinable()) thread_.join();
}

Status MetricsExposer::OpenFiles(const MetricsPlace& place) {
  if (!place.keys_file.empty() || place.tls) {
    pool_.emplace(loop_, http::OffloadPoolOptions{.threads = 1});
  }
  if (!place.keys_file.empty()) {
    auto keys = http::KeyFile::Open(place.keys_file);
    if (!keys.ok()) return WithContext(keys.status(), "metrics.keys_file");
    keys_ = *std::move(keys);
    keys_->Watch(loop_, *pool_, kFilesPeriod);
  }
  if (place.tls) {
    auto tls = http::TlsContext::Read(*place.tls);
    if (!tls.ok()) return WithContext(tls.status(), "the certificate for metrics.listen");
    tls_ = *std::move(tls);
    certificate_watch_.emplace(tls_, loop_, *pool_, kFilesPeriod);
  }
  return OkStatus();
}

Status MetricsExposer::Listen(const std::string& listen) {
  ASSIGN_OR_RETURN(const auto wanted, rpc::ParseListenAddress(listen));
  RETURN_IF_ERROR(rpc::CheckBindable(wanted));
  http::ServerContext context{.router = router_, .limits = kLimits};
  if (keys_ != nullptr) {
    context.key_name = [this](std::string_view authorization) {
      return keys_->keys().NameOf(authorization);
    };
  }
  ASSIGN_OR_RETURN(server_, http::Server::Start(loop_, {.host = wanted.host, .port = wanted.port},
                                                std::move(context), tls_.get()));
  rpc::ListenAddress taken = wanted.Reachable();
  taken.port = server_->port();
  address_ = taken.Text();
  return OkStatus();
}

}  // namespace gp::daemon
