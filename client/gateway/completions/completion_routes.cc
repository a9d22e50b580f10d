#include "client/gateway/completions/completion_routes.h"

#include <memory>
#include <utility>

#include "client/gateway/completions/completion.h"

namespace gp::gateway {
namespace {

// Work of a millisecond or more runs on the pool, not in the loop.
constexpr size_t kBodyInLoop = 64 << 10;
constexpr size_t kTextInLoop = 16 << 10;

http::ApiError Busy() {
  return {.status = 503, .message = "the gateway is busy", .code = "busy", .retry_after = 1};
}

size_t BytesOf(const CompletionRequest& request) {
  size_t bytes = 0;
  for (const Prompt& prompt : request.prompts) {
    bytes += std::visit([](const auto& what) { return what.size(); }, prompt);
  }
  return bytes;
}

using Parsed = std::variant<CompletionRequest, http::ApiError>;
using Prepared = std::variant<PreparedPrompts, http::ApiError>;

// Does `compute` here, or beside the loop when it is `slow`, and goes on with what comes out.
template <typename T>
void Compute(http::WorkPool& work, bool slow, const std::shared_ptr<http::Exchange>& exchange,
             std::function<T()> compute, std::function<void(T)> then) {
  if (!slow) return then(compute());
  auto result = std::make_shared<std::optional<T>>();
  const bool begun =
      work.Submit([result, compute = std::move(compute)] { result->emplace(compute()); },
                  [result, then = std::move(then)] { then(**std::move(result)); });
  if (!begun) exchange->Respond(Busy());
}

class CompletionRoute {
 public:
  CompletionRoute(ModelService& models, http::WorkPool& work) : models_(models), work_(work) {}

  void Handle(const std::shared_ptr<http::Exchange>& exchange) const {
    const std::string& body = exchange->request().body;
    Compute<Parsed>(
        work_, body.size() > kBodyInLoop, exchange,
        [exchange] { return ParseCompletionRequest(exchange->request().body); },
        [*this, exchange](Parsed parsed) { Resolve(exchange, std::move(parsed)); });
  }

 private:
  void Resolve(const std::shared_ptr<http::Exchange>& exchange, Parsed parsed) const {
    exchange->request().body = std::string();
    if (const auto* error = std::get_if<http::ApiError>(&parsed)) return exchange->Respond(*error);
    auto request =
        std::make_shared<CompletionRequest>(std::get<CompletionRequest>(std::move(parsed)));
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
        work_, BytesOf(*request) > kTextInLoop, exchange,
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
  http::WorkPool& work_;
};

}  // namespace

void AddCompletionRoutes(ModelService& models, http::WorkPool& work, http::Router& router) {
  router.Add(
      {"POST", "/v1/completions",
       [route = CompletionRoute(models, work)](const auto& exchange) { route.Handle(exchange); }});
  const auto refuse = [](const std::shared_ptr<http::Exchange>& exchange) {
    exchange->Respond(http::ApiError{
        .status = 400,
        .message = "these are base models without a chat template: they continue text; "
                   "use /v1/completions",
        .code = "no_chat_template"});
  };
  router.Add({"POST", "/v1/chat/completions", refuse});
}

}  // namespace gp::gateway
