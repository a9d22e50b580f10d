#include <nlohmann/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "client/gateway/completions/completion_routes.h"
#include "client/gateway/completions/json_body.h"
#include "http/exchange.h"
#include "http/json_text.h"

namespace gp::gateway {
namespace {

using Json = nlohmann::json;
using SharedExchange = std::shared_ptr<http::Exchange>;
using Work = std::function<http::Response(const ResolvedModel& model)>;

http::Response JsonResponse(std::string body) { return {.body = std::move(body)}; }

bool IsWholeText(std::string_view text) {
  while (!text.empty()) {
    if (!TakeCodePoint(text)) return false;
  }
  return true;
}

// llama.cpp's: its text, or its bytes when they are no text.
void AppendPiece(const Tokenizer& tokenizer, int32_t id, std::string& out) {
  const std::string piece = tokenizer.Decode({&id, 1});
  out += fmt::format(R"({{"id":{},"piece":)", id);
  if (IsWholeText(piece)) {
    http::AppendJsonString(piece, out);
  } else {
    std::string bytes;
    for (const char byte : piece) {
      if (!bytes.empty()) bytes += ',';
      bytes += std::to_string(static_cast<unsigned char>(byte));
    }
    out += "[" + bytes + "]";
  }
  out += "}";
}

// The answer in both dialects: vLLM's and llama.cpp's.
http::Response Tokenized(const ResolvedModel& model, const std::string& text, bool pieces) {
  const auto tokens = model.facts->tokenizer->Encode(text);
  if (!tokens.ok()) {
    return http::ErrorResponse(
        {.status = 400, .message = Message(tokens.status()), .param = "prompt"});
  }
  std::string list;
  for (const int32_t id : *tokens) {
    if (!list.empty()) list += ',';
    if (pieces) {
      AppendPiece(*model.facts->tokenizer, id, list);
    } else {
      http::AppendJsonNumber(static_cast<int64_t>(id), list);
    }
  }
  return JsonResponse(fmt::format(R"({{"tokens":[{}],"count":{},"max_model_len":{}}})", list,
                                  tokens->size(), model.facts->context()));
}

http::Response Detokenized(const ResolvedModel& model, const std::vector<int32_t>& tokens) {
  const std::string text = http::JsonString(model.facts->tokenizer->Decode(tokens));
  return JsonResponse(R"({"prompt":)" + text + R"(,"content":)" + text + "}");
}

http::Response TokenizerInfo(const ResolvedModel& model) {
  const CheckpointFacts& facts = *model.facts;
  const int32_t first = facts.first_token();
  const std::string name = http::JsonString(facts.tokenizer->Decode({&first, 1}));
  const bool gpt2 = facts.tokenizer->kind() == "gpt2";
  std::string out = R"({"tokenizer_class":)";
  http::AppendJsonString(gpt2 ? "GPT2Tokenizer" : facts.tokenizer->kind(), out);
  for (const char* key : {"eos_token", "bos_token", "pad_token", "unk_token"}) {
    out += fmt::format(R"(,"{}":{})", key, name);
  }
  out += fmt::format(R"(,"eos_token_id":{},"vocab_size":{},"model_max_length":{})", first,
                     facts.vocabulary(), facts.context());
  out += R"(,"chat_template":null,"add_bos_token":false,"model":)" + http::JsonString(model.name) +
         "}";
  return JsonResponse(std::move(out));
}

class TokenizerRoute {
 public:
  TokenizerRoute(ModelService& models, http::WorkPool& work) : models_(models), work_(work) {}

  void Tokenize(const SharedExchange& exchange) const {
    JsonBody body(exchange->request().body);
    std::string model;
    std::string text;
    bool pieces = false;
    body.Read("model", model);
    const bool has_content = body.Find("content") != nullptr;
    if (!has_content && body.Find("prompt") == nullptr) {
      body.Fail("prompt", "prompt, or content, is missing");
    }
    body.Read(has_content ? "content" : "prompt", text);
    body.Read("with_pieces", pieces);
    if (body.error()) return exchange->Respond(*body.error());
    Answer(exchange, model, [text = std::move(text), pieces](const ResolvedModel& resolved) {
      return Tokenized(resolved, text, pieces);
    });
  }

  void Detokenize(const SharedExchange& exchange) const {
    JsonBody body(exchange->request().body);
    std::string model;
    body.Read("model", model);
    std::vector<int32_t> tokens;
    const Json* list = body.Find("tokens");
    if (list == nullptr || !list->is_array()) body.Fail("tokens", "tokens is not a list of ids");
    for (size_t i = 0; !body.error() && i < list->size(); ++i) {
      const auto id = WholeNumber((*list)[i]);
      if (!id || *id < 0 || *id > std::numeric_limits<int32_t>::max()) {
        body.Fail("tokens", "tokens is not a list of ids");
      } else {
        tokens.push_back(static_cast<int32_t>(*id));
      }
    }
    if (body.error()) return exchange->Respond(*body.error());
    Answer(exchange, model, [tokens = std::move(tokens)](const ResolvedModel& resolved) {
      return Detokenized(resolved, tokens);
    });
  }

  void Info(const SharedExchange& exchange) const {
    const std::string model(exchange->request().Parameter("model").value_or(""));
    Answer(exchange, model, [](const ResolvedModel& resolved) { return TokenizerInfo(resolved); });
  }

 private:
  void Answer(const SharedExchange& exchange, const std::string& model, Work work) const {
    models_.Resolve(model, [*this, exchange, work = std::move(work)](const auto& resolved) {
      if (const auto* error = std::get_if<http::ApiError>(&resolved))
        return exchange->Respond(*error);
      auto response = std::make_shared<http::Response>();
      const bool begun = work_.Submit(
          [response, work, model = std::get<ResolvedModel>(resolved)] { *response = work(model); },
          [response, exchange] { exchange->Respond(std::move(*response)); });
      if (!begun) {
        exchange->Respond(
            http::ApiError{.status = 503, .message = "the gateway is busy", .retry_after = 1});
      }
    });
  }

  ModelService& models_;
  http::WorkPool& work_;
};

}  // namespace

void AddTokenizerRoutes(ModelService& models, http::WorkPool& work, http::Router& router) {
  const TokenizerRoute route(models, work);
  router.Add({"POST", "/tokenize", [route](const auto& exchange) { route.Tokenize(exchange); }});
  router.Add(
      {"POST", "/detokenize", [route](const auto& exchange) { route.Detokenize(exchange); }});
  router.Add({"GET", "/tokenizer_info", [route](const auto& exchange) { route.Info(exchange); }});
}

}  // namespace gp::gateway
