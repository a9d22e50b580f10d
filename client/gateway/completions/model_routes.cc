#include "client/gateway/completions/completion_routes.h"
#include "http/exchange.h"
#include "http/json_text.h"

namespace gp::gateway {
namespace {

std::string ModelJson(const NamedModel& named, const ModelService& models, const ModelPool& pool) {
  const ServedCheckpoint& checkpoint = named.checkpoint;
  const SharedFacts facts = models.shelf().Known(checkpoint.directory);
  std::string out = R"({"id":)" + http::JsonString(named.id) + R"(,"object":"model","created":)";
  http::AppendJsonNumber(checkpoint.sealed_at, out);
  out += R"(,"owned_by":"gp","root":)" + http::JsonString(named.root) + R"(,"step":)";
  http::AppendJsonNumber(checkpoint.step, out);
  out += R"(,"validation_loss":)";
  if (checkpoint.validation_loss) {
    http::AppendJsonNumber(*checkpoint.validation_loss, out);
  } else {
    out += "null";
  }
  if (facts) {
    out += fmt::format(R"(,"max_model_len":{},"parameters":{},"tokenizer":"{}")", facts->context(),
                       facts->parameters, facts->tokenizer->kind());
  } else {
    out += R"(,"max_model_len":null,"parameters":null,"tokenizer":null)";
  }
  return out + fmt::format(R"(,"state":"{}","kind":"{}"}})",
                           Name(pool.StateOf(checkpoint.directory)), Name(named.kind));
}

}  // namespace

void AddModelRoutes(ModelService& models, http::Router& router) {
  router.Add({"GET", "/v1/models", [&models](const auto& exchange) {
                std::string list;
                for (const NamedModel& named : models.catalogue().List()) {
                  if (!list.empty()) list += ',';
                  list += ModelJson(named, models, models.pool());
                }
                exchange->Respond({.body = R"({"object":"list","data":[)" + list + "]}"});
              }});
  router.Add({"GET", "/v1/models/{id...}", [&models](const auto& exchange) {
                const std::string id(exchange->request().Capture("id"));
                auto found = models.catalogue().Find(id);
                if (!found.ok()) {
                  return exchange->Respond(http::ApiError{.status = 404,
                                                          .message = Message(found.status()),
                                                          .param = "model",
                                                          .code = "model_not_found"});
                }
                found->id = id;
                exchange->Respond({.body = ModelJson(*found, models, models.pool())});
              }});
}

}  // namespace gp::gateway
