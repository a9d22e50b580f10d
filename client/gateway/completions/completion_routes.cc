#include "client/gateway/completions/completion_routes.h"

#include <memory>
#include <utility>

#include "client/gateway/completions/beside_loop.h"
#include "client/gateway/completions/completion.h"

namespace gp::gateway {
namespace {

using Parsed = std::variant<CompletionRequest, http::ApiError>;
using Prepared = std::variant<PreparedPrompts, http::ApiError>;

// Whether encoding the prompts may take a millisecond or more, too long for the event loop.
bool HasLongPrompts(const CompletionRequest& request) {
  constexpr size_t kTextInLoop = 16 << 10;
  return request.bytes() > kTextInLoop;
}

class CompletionRoute {
 public:
  CompletionRoute(ModelService& models, http::OffloadPool& work, size_t body_bytes_max)
      : models_(models), work_(work), body_bytes_max_(body_bytes_max) {}

  void Handle(const std::shared_ptr<http::Exchange>& exchange) const {
    Compute<Parsed>(
        work_, IsLongBody(exchange->request()), exchange,
        [exchange, most = body_bytes_max_]() -> Parsed {
          if (const auto error = http::DecodeBody(exchange->request(), most)) return *error;
          return ParseCompletionRequest(exchange->request().body);
        },
        [*this, exchange](Parsed parsed) { Resolve(exchange, std::move(parsed)); });
  }

 private:
  void Resolve(const std::shared_ptr<http::Exchange>& exchange, Parsed parsed) const {
    exchange->request().body = std::string();
    if (const auto* error = std::get_if<http::ApiError>(&parsed)) return exchange->Respond(*error);
    auto request =
        std::make_shared<CompletionRequest>(std::get<CompletionRequest>(std::move(parsed)));
    if (!exchange->Hold(request->bytes())) return exchange->Respond(Busy());
    models_.Resolve(request->model, [*this, exchange, request](const auto& resolved) {
      if (const auto* error = std::get_if<http::ApiError>(&resolved))
        return exchange->Respond(*error);
      Prepare(exchange, request, std::get<ResolvedModel>(resolved));
    });
  }

  void Prepare(const std::shared_ptr<http::Exchange>& exchange,
               const std::shared_ptr<CompletionRequest>& request,
               const ResolvedModel& model) const {
    Compute<Prepared>(
        work_, HasLongPrompts(*request), exchange,
        [request, facts = model.facts] { return PreparePrompts(*request, *facts); },
        [*this, exchange, request, model](Prepared prepared) {
          if (exchange->gone()) return;
          if (const auto* error = std::get_if<http::ApiError>(&prepared)) {
            return exchange->Respond(*error);
          }
          std::make_shared<Completion>(exchange, std::move(*request),
                                       std::get<PreparedPrompts>(std::move(prepared)), model.facts,
                                       model.name)
              ->Begin(models_.pool());
        });
  }

  ModelService& models_;
  http::OffloadPool& work_;
  size_t body_bytes_max_;
};

// 404 responses with a hint, for paths of other APIs that the gateway serves elsewhere or not at
// all.
void AddHints(http::Router& router) {
  struct Hint {
    const char* method;
    const char* path;
    const char* words;
  };
  for (const Hint& hint : {
           Hint{"POST", "/v1/embeddings",
                "these models have no embeddings; POST /tokenize returns the tokens of a text"},
           Hint{"POST", "/v1/responses",
                "the Responses API is for chat models; these models continue text: POST "
                "/v1/completions"},
           Hint{"POST", "/v1/messages",
                "the Messages API is for chat models; these models continue text: POST "
                "/v1/completions"},
           Hint{"GET", "/v1",
                "this is the base address for OpenAI's clients; GET /v1/models lists the models"},
           Hint{"GET", "/playground", "the playground is at /"},
           Hint{"GET", "/runs/{name}",
                "the page of a run is at /runs#run=NAME, its data at "
                "/api/v1/runs/NAME"},
       }) {
    const http::ApiError error{.status = 404, .message = hint.words, .code = "unknown_path"};
    router.Add({hint.method, hint.path, [error](const auto& exchange) { exchange->Respond(error); },
                /*open=*/true});
  }
}

}  // namespace

void AddCompletionRoutes(ModelService& models, http::OffloadPool& work, size_t body_bytes_max,
                         http::Router& router) {
  const CompletionRoute route(models, work, body_bytes_max);
  router.Add(
      {"POST", "/v1/completions", [route](const auto& exchange) { route.Handle(exchange); }});
  const auto refuse = [](const std::shared_ptr<http::Exchange>& exchange) {
    exchange->Respond(http::ApiError{
        .status = 400,
        .message = "these are base models without a chat template: they continue text; "
                   "use /v1/completions",
        .code = "no_chat_template"});
  };
  router.Add({"POST", "/v1/chat/completions", refuse});
  AddHints(router);
}

}  // namespace gp::gateway
