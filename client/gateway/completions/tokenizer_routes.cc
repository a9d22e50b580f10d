#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/text/utf8.h"
#include "client/gateway/completions/beside_loop.h"
#include "client/gateway/completions/completion_routes.h"
#include "client/gateway/completions/json_body.h"
#include "client/gateway/completions/prepared_prompts.h"
#include "http/exchange.h"
#include "http/json_text.h"

namespace gp::gateway {
namespace {

using Json = nlohmann::json;
using SharedExchange = std::shared_ptr<http::Exchange>;
using Work = std::function<http::Response(const ResolvedModel& model)>;

// Limit for the text of one request; clients must send a longer text in parts.
constexpr size_t kTextBytesMax = 1 << 20;

// A parsed request: the model it names and the work to do with that model.
struct Question {
  std::string model;
  size_t bytes = 0;  // held by `work`
  Work work;
  std::string ignored;  // ignored fields of the body, from JsonBody::Ignored
};
using Parsed = std::variant<Question, http::ApiError>;

http::Response JsonResponse(std::string body) { return {.body = std::move(body)}; }

// A piece as llama.cpp writes it: the token's text, or its bytes when they are not valid UTF-8.
void AppendPiece(const Tokenizer& tokenizer, int32_t id, std::string& out) {
  const std::string piece = tokenizer.Decode({&id, 1});
  out += fmt::format(R"({{"id":{},"piece":)", id);
  if (IsUtf8(piece)) {
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

struct TokenizeRequest {
  std::string text;
  bool pieces = false;  // respond with each token's text, too
  // Encode the spelling of a special token as that token, as vLLM and llama.cpp do. lm_eval gets
  // the id of "<|endoftext|>" in this way.
  bool parse_special = true;
};

// The answer in both dialects: vLLM's and llama.cpp's.
http::Response Tokenized(const ResolvedModel& model, const TokenizeRequest& request) {
  const Tokenizer& tokenizer = *model.facts->tokenizer;
  const auto tokens = request.parse_special ? tokenizer.EncodeWithSpecial(request.text)
                                            : tokenizer.Encode(request.text);
  if (!tokens.ok()) {
    return http::ErrorResponse(
        {.status = 400, .message = Message(tokens.status()), .param = "prompt"});
  }
  std::string out = R"({"tokens":[)";
  for (size_t i = 0; i < tokens->size(); ++i) {
    if (i > 0) out += ',';
    if (request.pieces) {
      AppendPiece(tokenizer, (*tokens)[i], out);
    } else {
      http::AppendJsonNumber(static_cast<int64_t>((*tokens)[i]), out);
    }
  }
  out +=
      fmt::format(R"(],"count":{},"max_model_len":{}}})", tokens->size(), model.facts->context());
  return JsonResponse(std::move(out));
}

http::ApiError TooMuchText(const std::string& param, std::string message) {
  return {.status = 400, .message = std::move(message), .param = param, .code = "invalid_value"};
}

http::Response Detokenized(const ResolvedModel& model, const std::vector<int32_t>& tokens) {
  constexpr size_t kIdsAtOnce = 1024;
  const std::span<const int32_t> ids = tokens;
  if (const auto error = UnknownToken("tokens", ids, *model.facts)) {
    return http::ErrorResponse(*error);
  }
  std::string text;
  for (size_t i = 0; i < ids.size() && text.size() <= kTextBytesMax; i += kIdsAtOnce) {
    text += model.facts->tokenizer->Decode(ids.subspan(i, std::min(kIdsAtOnce, ids.size() - i)));
  }
  if (text.size() > kTextBytesMax) {
    return http::ErrorResponse(
        TooMuchText("tokens", fmt::format("the text of these tokens has more than {} bytes, the "
                                          "limit of one answer; send them in parts",
                                          kTextBytesMax)));
  }
  const std::string json = http::JsonString(text);
  return JsonResponse(R"({"prompt":)" + json + R"(,"content":)" + json + "}");
}

Parsed ReadTokenize(std::string_view text_of_body) {
  JsonBody body(text_of_body);
  Question question;
  TokenizeRequest request;
  body.ReadName("model", question.model);
  const Json* prompt = body.Find("prompt");
  const Json* content = body.Find("content");
  if (prompt == nullptr && content == nullptr) {
    body.Fail("prompt", "prompt, or content, is missing");
  }
  if (prompt != nullptr && content != nullptr && *prompt != *content) {
    body.Fail("content", "prompt and content are both given, and differ; send one of them");
  }
  const std::string param = content != nullptr ? "content" : "prompt";
  body.Read(param, request.text);
  body.Read("with_pieces", request.pieces);
  body.Read("parse_special", request.parse_special);
  if (body.error()) return *body.error();
  if (request.text.size() > kTextBytesMax) {
    return TooMuchText(
        param,
        fmt::format("{} has {} bytes, at most {} are allowed in one request; send it in parts",
                    param, request.text.size(), kTextBytesMax));
  }
  question.ignored = body.Ignored();
  question.bytes = request.text.size();
  question.work = [request = std::move(request)](const ResolvedModel& model) {
    return Tokenized(model, request);
  };
  return question;
}

Parsed ReadDetokenize(std::string_view text_of_body) {
  JsonBody body(text_of_body);
  Question question;
  body.ReadName("model", question.model);
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
  if (body.error()) return *body.error();
  question.ignored = body.Ignored();
  question.bytes = tokens.size() * sizeof(int32_t);
  question.work = [tokens = std::move(tokens)](const ResolvedModel& model) {
    return Detokenized(model, tokens);
  };
  return question;
}

http::Response TokenizerInfo(const ResolvedModel& model) {
  const CheckpointFacts& facts = *model.facts;
  const SpecialTokens& special = facts.tokenizer->special_tokens();
  const auto name_of = [&](std::optional<int32_t> id) -> std::string {
    return id ? http::JsonString(facts.tokenizer->Decode({&*id, 1})) : "null";
  };
  const bool gpt2 = facts.tokenizer->kind() == "gpt2";
  std::string out = R"({"tokenizer_class":)";
  http::AppendJsonString(gpt2 ? "GPT2Tokenizer" : facts.tokenizer->kind(), out);
  // lm_eval stops at eos_token, so it is null if the tokenizer has no such token, as in vLLM.
  // lm_eval puts bos_token before a document, so that is never null.
  out += fmt::format(R"(,"eos_token":{},"bos_token":{},"pad_token":{},"unk_token":{})",
                     name_of(special.eos), name_of(special.bos.value_or(facts.first_token())),
                     name_of(special.pad), name_of(special.unk));
  out += fmt::format(R"(,"eos_token_id":{},"vocab_size":{},"model_max_length":{})",
                     special.eos ? std::to_string(*special.eos) : "null", facts.vocabulary(),
                     facts.context());
  out += R"(,"chat_template":null,"add_bos_token":false,"model":)" + http::JsonString(model.name) +
         "}";
  return JsonResponse(std::move(out));
}

// An error if several models are served and the request names none: the newest checkpoint's
// tokenizer would be used, and the client could not know which one that is.
std::optional<http::ApiError> CheckNamesModel(const std::string& model,
                                              const ModelService& models) {
  if (!model.empty()) return std::nullopt;
  if (const Status all = models.AllKnown(); !all.ok()) return NoSuchModel(all);
  const auto served = models.catalogue().Aliases();
  if (served.size() <= 1) return std::nullopt;
  return http::ApiError{
      .status = 400,
      .message = fmt::format(
          "model is missing, and {} models are served here, whose tokenizers may differ; name one, "
          "such as \"{}\". For a client that cannot name one, like lm_eval's remote tokenizer, "
          "start a gateway with one model: gp-gateway --model NAME=DIRECTORY",
          served.size(), served.front().id),
      .param = "model",
      .code = "model_missing"};
}

class TokenizerRoute {
 public:
  TokenizerRoute(ModelService& models, http::OffloadPool& work, size_t body_bytes_max)
      : models_(models), work_(work), body_bytes_max_(body_bytes_max) {}

  // Answers a request whose body `read` parses.
  void Handle(const SharedExchange& exchange, Parsed (*read)(std::string_view)) const {
    Compute<Parsed>(
        work_, IsLongBody(exchange->request()), exchange,
        [exchange, read, most = body_bytes_max_]() -> Parsed {
          if (const auto error = http::DecodeBody(exchange->request(), most)) return *error;
          return read(exchange->request().body);
        },
        [*this, exchange](const Parsed& parsed) {
          exchange->request().body = std::string();
          if (const auto* error = std::get_if<http::ApiError>(&parsed)) {
            return exchange->Respond(*error);
          }
          Answer(exchange, std::get<Question>(parsed));
        });
  }

  void Info(const SharedExchange& exchange) const {
    const std::string model(exchange->request().Parameter("model").value_or(""));
    Answer(exchange, {.model = model, .work = TokenizerInfo});
  }

 private:
  // Waits until all names are known: before that it is unknown whether the model exists, and how
  // many models there are.
  void Answer(const SharedExchange& exchange, const Question& question) const {
    if (!exchange->Hold(question.bytes)) return exchange->Respond(Busy());
    models_.WhenKnown(question.model,
                      [*this, exchange, question] { AnswerKnown(exchange, question); });
  }

  void AnswerKnown(const SharedExchange& exchange, const Question& question) const {
    if (const auto error = CheckNamesModel(question.model, models_)) {
      return exchange->Respond(*error);
    }
    models_.Resolve(question.model, [*this, exchange, question](const auto& resolved) {
      if (const auto* error = std::get_if<http::ApiError>(&resolved))
        return exchange->Respond(*error);
      Compute<http::Response>(
          work_, /*slow=*/true, exchange,
          [work = question.work, model = std::get<ResolvedModel>(resolved)] { return work(model); },
          [exchange, ignored = question.ignored](http::Response response) {
            for (auto& header : IgnoredHeader(ignored)) response.headers.push_back(header);
            exchange->Respond(std::move(response));
          });
    });
  }

  ModelService& models_;
  http::OffloadPool& work_;
  size_t body_bytes_max_;
};

}  // namespace

void AddTokenizerRoutes(ModelService& models, http::OffloadPool& work, size_t body_bytes_max,
                        http::Router& router) {
  const TokenizerRoute route(models, work, body_bytes_max);
  router.Add({"POST", "/tokenize",
              [route](const auto& exchange) { route.Handle(exchange, ReadTokenize); }});
  router.Add({"POST", "/detokenize",
              [route](const auto& exchange) { route.Handle(exchange, ReadDetokenize); }});
  router.Add({"GET", "/tokenizer_info", [route](const auto& exchange) { route.Info(exchange); }});
}

}  // namespace gp::gateway
