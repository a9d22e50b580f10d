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

// Responds 503 instead of an empty list until all names are known. The models of directories are
// listed even while the coordinator is away.
void RespondList(ModelService& models, http::Exchange& exchange) {
  const std::vector<NamedModel> known = models.catalogue().List();
  const Status all = models.AllKnown();
  if (known.empty() && !all.ok()) return exchange.Respond(NoSuchModel(all));
  std::string list;
  for (const NamedModel& named : known) {
    if (!list.empty()) list += ',';
    list += ModelJson(named, models, models.pool());
  }
  exchange.Respond({.body = R"({"object":"list","data":[)" + list + "]}"});
}

void RespondModel(ModelService& models, const std::string& id, http::Exchange& exchange) {
  auto found = models.Find(id);
  if (!found.ok()) return exchange.Respond(NoSuchModel(found.status()));
  found->id = id;
  exchange.Respond({.body = ModelJson(*found, models, models.pool())});
}

}  // namespace

void AddModelRoutes(ModelService& models, http::Router& router) {
  router.Add({"GET", "/v1/models", [&models](const auto& exchange) {
                models.WhenKnown("", [&models, exchange] { RespondList(models, *exchange); });
              }});
  router.Add({"GET", "/v1/models/{id...}", [&models](const auto& exchange) {
                const std::string id(exchange->request().Capture("id"));
                models.WhenKnown(id,
                                 [&models, exchange, id] { RespondModel(models, id, *exchange); });
              }});
}

}  // namespace gp::gateway
