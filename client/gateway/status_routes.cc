#include "client/gateway/status_routes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "client/gateway/openapi.h"
#include "http/exchange.h"
#include "http/json_text.h"

namespace gp::gateway {
namespace {

using SharedExchange = std::shared_ptr<http::Exchange>;

constexpr const char* kOk = R"({"status":"ok"})";

http::ApiError NotNow(std::string message) {
  return {.status = 503, .message = std::move(message), .code = "unavailable", .retry_after = 1};
}

// GET /health as in llama.cpp, whose clients wait until it responds 200: 503 "Loading model" while
// the first model is being loaded.
void Health(const GatewayFacts& facts, ModelService& models, const SharedExchange& exchange) {
  const PoolCounts counts = models.pool().Counts();
  if (facts.stopping()) return exchange->Respond(NotNow("the gateway is stopping"));
  if (counts.loaded == 0 && counts.loading > 0) return exchange->Respond(NotNow("Loading model"));
  exchange->Respond({.body = kOk});
}

void Ready(const GatewayFacts& facts, ModelService& models, const SharedExchange& exchange) {
  if (facts.stopping()) return exchange->Respond(NotNow("the gateway is stopping"));
  const Status known = models.AllKnown();
  const auto served = models.catalogue().Aliases();
  const bool has_directory = std::any_of(served.begin(), served.end(), [](const NamedModel& named) {
    return named.kind == NameKind::kDirectory;
  });
  if (!known.ok() && !has_directory) return exchange->Respond(NotNow(Message(known)));
  exchange->Respond({.body = kOk});
}

void Props(const GatewayFacts& facts, ModelService& models, const SharedExchange& exchange) {
  const auto newest = models.Find("");
  std::string out =
      R"({"default_generation_settings":{"temperature":1,"top_k":50,"top_p":1,"min_p":0,)"
      R"("presence_penalty":0,"frequency_penalty":0,"max_tokens":16,"n":1},"build_info":)";
  http::AppendJsonString("gp " + facts.version, out);
  out += R"(,"chat_template":null,"default_model":)";
  if (newest.ok()) {
    http::AppendJsonString(newest->resolved, out);
  } else {
    out += "null";
  }
  const PoolCounts counts = models.pool().Counts();
  out += fmt::format(R"(,"models_loaded":{},"texts_running":{},"requests_waiting":{}}})",
                     counts.loaded, counts.texts_running, counts.requests_waiting);
  exchange->Respond({.body = std::move(out)});
}

}  // namespace

void AddStatusRoutes(GatewayFacts facts, ModelService& models, GatewayMetrics& metrics,
                     http::Router& router) {
  const auto shared = std::make_shared<const GatewayFacts>(std::move(facts));
  for (const char* path : {"/health", "/v1/health"}) {
    router.Add({"GET", path,
                [shared, &models](const auto& exchange) { Health(*shared, models, exchange); },
                /*open=*/true, /*any_host=*/true});
  }
  for (const char* path : {"/livez", "/healthz"}) {
    router.Add({"GET", path, [](const auto& exchange) { exchange->Respond({.body = kOk}); },
                /*open=*/true, /*any_host=*/true});
  }
  router.Add({"GET", "/readyz",
              [shared, &models](const auto& exchange) { Ready(*shared, models, exchange); },
              /*open=*/true, /*any_host=*/true});
  router.Add({"GET", "/version", [shared](const auto& exchange) {
                exchange->Respond(
                    {.body = R"({"version":)" + http::JsonString(shared->version) + "}"});
              }});
  router.Add({"GET", "/props",
              [shared, &models](const auto& exchange) { Props(*shared, models, exchange); }});
  router.Add({"GET", "/metrics",
              [shared, &metrics](const auto& exchange) {
                shared->observe();
                exchange->Respond({.body = metrics.Text(),
                                   .content_type = "text/plain; version=0.0.4; charset=utf-8"});
              },
              /*open=*/false, /*any_host=*/true});
  router.Add({"GET", "/openapi.json",
              [](const auto& exchange) { exchange->Respond({.body = std::string(OpenApiText())}); },
              /*open=*/true});
}

}  // namespace gp::gateway
