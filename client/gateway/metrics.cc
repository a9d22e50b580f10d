#include "client/gateway/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace gp::gateway {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

const Histogram::BucketBoundaries kRequestSeconds = {0.001, 0.005, 0.02, 0.1, 0.5, 1,
                                                     2.5,   5,     10,   30,  120, 600};
const Histogram::BucketBoundaries kFirstTokenSeconds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                        0.5,   1,    2.5,   5,    10,  60};
const Histogram::BucketBoundaries kTokenSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025,
                                                   0.05,  0.1,    0.25,  0.5,  1};

Gauge& MakeGauge(const char* name, const char* help, Registry& registry) {
  return BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

Counter& MakeCounter(const char* name, const char* help, Registry& registry) {
  return BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

struct GatewayMetrics::Families {
  std::shared_ptr<Registry> registry = std::make_shared<Registry>();
  Family<Gauge>& build_info = BuildGauge()
                                  .Name("gp_build_info")
                                  .Help("Version of the running program; always 1")
                                  .Register(*registry);
  Family<Counter>& requests = BuildCounter()
                                  .Name("gp_gateway_requests_total")
                                  .Help(
                                      "Requests that ended, by endpoint and status; 499: the "
                                      "client disconnected before the answer")
                                  .Register(*registry);
  Family<Histogram>& duration = BuildHistogram()
                                    .Name("gp_gateway_request_duration_seconds")
                                    .Help("Time from a request's header to the end of its answer")
                                    .Register(*registry);
  Histogram& first_token = BuildHistogram()
                               .Name("gp_gateway_time_to_first_token_seconds")
                               .Help("Time from a request's header to its first token")
                               .Register(*registry)
                               .Add({}, kFirstTokenSeconds);
  Histogram& token = BuildHistogram()
                         .Name("gp_gateway_inter_token_latency_seconds")
                         .Help("Mean time between two tokens of a request; one value per request")
                         .Register(*registry)
                         .Add({}, kTokenSeconds);
  Family<Counter>& tokens = BuildCounter()
                                .Name("gp_gateway_tokens_total")
                                .Help("Tokens in prompts and tokens generated")
                                .Register(*registry);
  Counter& prompt_tokens = tokens.Add({{"kind", "prompt"}});
  Counter& generated_tokens = tokens.Add({{"kind", "generated"}});
  Counter& cancelled =
      MakeCounter("gp_gateway_requests_cancelled_total",
                  "Requests whose client disconnected before the end of the answer", *registry);
  Family<Gauge>& in_progress =
      BuildGauge()
          .Name("gp_gateway_requests_in_progress")
          .Help("Requests that wait for a sampler, and texts that are being generated")
          .Register(*registry);
  Gauge& waiting = in_progress.Add({{"stage", "waiting"}});
  Gauge& running = in_progress.Add({{"stage", "running"}});
  Gauge& models = MakeGauge("gp_gateway_models", "Names in the catalogue of models", *registry);
  Gauge& loaded =
      MakeGauge("gp_gateway_models_loaded", "Checkpoints that a sampler has loaded", *registry);
  Gauge& memory =
      MakeGauge("gp_gateway_sampler_memory_bytes", "Total memory given to the samplers", *registry);
  Gauge& connections = MakeGauge("gp_gateway_connections", "Clients that are connected", *registry);
  Counter& restarts = MakeCounter("gp_gateway_sampler_restarts_total",
                                  "Samplers that ended unexpectedly", *registry);
};

GatewayMetrics::GatewayMetrics(const std::string& version)
    : families_(std::make_unique<Families>()) {
  families_->build_info.Add({{"component", "gateway"}, {"version", version}}).Set(1);
  families_->requests.Add({{"endpoint", "/v1/completions"}, {"code", "200"}});
  families_->duration.Add({{"endpoint", "/v1/completions"}}, kRequestSeconds);
}

GatewayMetrics::~GatewayMetrics() = default;

void GatewayMetrics::Finished(const http::ExchangeRecord& record) {
  families_->requests.Add({{"endpoint", record.endpoint}, {"code", std::to_string(record.status)}})
      .Increment();
  families_->duration.Add({{"endpoint", record.endpoint}}, kRequestSeconds)
      .Observe(Seconds(record.duration));
  const http::ExchangeNotes& notes = record.notes;
  if (notes.gone) families_->cancelled.Increment();
  if (!notes.first_token) return;
  const double first = Seconds(*notes.first_token - record.begun);
  families_->first_token.Observe(first);
  families_->prompt_tokens.Increment(static_cast<double>(notes.prompt_tokens));
  families_->generated_tokens.Increment(static_cast<double>(notes.tokens));
  if (notes.tokens > 1) {
    families_->token.Observe((Seconds(record.duration) - first) /
                             static_cast<double>(notes.tokens - 1));
  }
}

void GatewayMetrics::Observe(const PoolCounts& counts, int connections, size_t models) {
  families_->waiting.Set(static_cast<double>(counts.requests_waiting));
  families_->running.Set(static_cast<double>(counts.texts_running));
  families_->loaded.Set(counts.loaded);
  families_->memory.Set(static_cast<double>(counts.memory_bytes));
  families_->connections.Set(connections);
  families_->models.Set(static_cast<double>(models));
  const double more = static_cast<double>(counts.restarts) - families_->restarts.Value();
  if (more > 0) families_->restarts.Increment(more);
}

std::shared_ptr<prometheus::Collectable> GatewayMetrics::page() const {
  return families_->registry;
}

std::string GatewayMetrics::Text() const {
  return prometheus::TextSerializer().Serialize(families_->registry->Collect());
}

std::string GatewayMetrics::List(const std::string& version) {
  return GatewayMetrics(version).Text();
}

}  // namespace gp::gateway
