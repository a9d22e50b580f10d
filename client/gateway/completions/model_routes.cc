#include <map>
#include <memory>

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

// The text of GET /v1/models. Writing it for a thousand runs would block the loop for too long at
// each request, so the text is cached until its content changes.
class ModelList {
 public:
  explicit ModelList(ModelService& models) : models_(models) {}

  // Responds 503 instead of an empty list until all names are known. The models of directories are
  // listed even while the coordinator is away.
  void Respond(http::Exchange& exchange) {
    const Status all = models_.AllKnown();
    if (models_.catalogue().empty() && !all.ok()) return exchange.Respond(NoSuchModel(all));
    const Made now{models_.catalogue().version(), models_.shelf().version(),
                   models_.pool().States()};
    if (text_.empty() || now != made_) {
      text_ = Text();
      made_ = now;
    }
    exchange.Respond({.body = text_});
  }

 private:
  // The versions and model states that `text_` was built from; it is rebuilt when they change.
  struct Made {
    uint64_t catalogue = 0;
    uint64_t shelf = 0;
    std::map<std::string, ModelState> states;

    bool operator==(const Made&) const = default;
  };

  std::string Text() const {
    std::string list;
    for (const NamedModel& named : models_.catalogue().List()) {
      if (!list.empty()) list += ',';
      list += ModelJson(named, models_, models_.pool());
    }
    return R"({"object":"list","data":[)" + list + "]}";
  }

  ModelService& models_;
  Made made_;
  std::string text_;
};

void RespondModel(ModelService& models, const std::string& id,
                  const std::shared_ptr<http::Exchange>& exchange) {
  auto found = models.Find(id);
  if (!found.ok()) {
    return models.Refuse(id, found.status(),
                         [exchange](const http::ApiError& error) { exchange->Respond(error); });
  }
  found->id = id;
  exchange->Respond({.body = ModelJson(*found, models, models.pool())});
}

}  // namespace

void AddModelRoutes(ModelService& models, http::Router& router) {
  const auto list = std::make_shared<ModelList>(models);
  router.Add({"GET", "/v1/models", [&models, list](const auto& exchange) {
                models.WhenKnown("", [list, exchange] { list->Respond(*exchange); });
              }});
  router.Add({"GET", "/v1/models/{id...}", [&models](const auto& exchange) {
                const std::string id(exchange->request().Capture("id"));
                models.WhenKnown(id,
                                 [&models, exchange, id] { RespondModel(models, id, exchange); });
              }});
}

}  // namespace gp::gateway
