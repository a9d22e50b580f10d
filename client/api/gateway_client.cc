#include "client/api/gateway_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "client/api/event_reader.h"

namespace gp::client {
namespace {

using Json = nlohmann::json;

constexpr size_t kAnswerBytesMax = 64 << 20;
constexpr size_t kErrorBytesMax = 64 << 10;
constexpr int kPollMilliseconds = 1000;

// CURL and CURLM are the same type, so each needs its own deleter.
struct EndEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct EndMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct EndList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EndEasy>;
using Multi = std::unique_ptr<CURLM, EndMulti>;
using HeaderList = std::unique_ptr<curl_slist, EndList>;

void InitCurlOnce() {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)initialized;
}

// The state of one response: passes the body to `on_body` if the HTTP status is a success,
// otherwise keeps it in `error_body`.
struct Receiver {
  CURL* easy = nullptr;
  const std::function<Status(std::string_view)>* on_body = nullptr;
  std::string error_body;
  Status status;
};

int64_t HttpStatus(CURL* easy) {
  long code = 0;  // NOLINT(google-runtime-int): libcurl's type
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

size_t ReceivePiece(char* data, size_t size, size_t count, void* user) {
  auto& receiver = *static_cast<Receiver*>(user);
  const std::string_view piece(data, size * count);
  if (HttpStatus(receiver.easy) >= 300) {
    receiver.error_body += piece.substr(0, kErrorBytesMax - receiver.error_body.size());
    return piece.size();
  }
  receiver.status = (*receiver.on_body)(piece);
  return receiver.status.ok() ? piece.size() : 0;
}

StatusCode CodeOf(int64_t http_status) {
  switch (http_status) {
    case 400:
    case 413:
    case 422:
      return StatusCode::kInvalidArgument;
    case 401:
    case 403:
      return StatusCode::kPermissionDenied;
    case 404:
      return StatusCode::kNotFound;
    case 408:
    case 429:
    case 503:
    case 504:
      return StatusCode::kUnavailable;
    default:
      return StatusCode::kInternal;
  }
}

// The text field `key` of the "error" object in a response or an event; empty if it is absent.
std::string ErrorText(const Json& json, const char* key) {
  const bool told = json.is_object() && json.contains("error") && json["error"].is_object() &&
                    json["error"].contains(key) && json["error"][key].is_string();
  return told ? json["error"][key].get<std::string>() : "";
}

// The status code for an error inside a stream. The HTTP status was sent before the error, so the
// code is derived from the error's type (http::TypeOf).
StatusCode CodeOfType(std::string_view type) {
  if (type == "invalid_request_error") return StatusCode::kInvalidArgument;
  if (type == "authentication_error" || type == "permission_error") {
    return StatusCode::kPermissionDenied;
  }
  if (type == "not_found_error") return StatusCode::kNotFound;
  const bool may_pass =
      type == "rate_limit_error" || type == "unavailable_error" || type == "timeout_error";
  return may_pass ? StatusCode::kUnavailable : StatusCode::kInternal;
}

Status ErrorOfEvent(const Json& event) {
  const std::string message = ErrorText(event, "message");
  return MakeStatus(CodeOfType(ErrorText(event, "type")), "{}",
                    message.empty() ? "the gateway ended the text with an error" : message);
}

Status ErrorOfAnswer(int64_t http_status, const std::string& body) {
  const std::string message = ErrorText(Json::parse(body, nullptr, false), "message");
  return MakeStatus(
      CodeOf(http_status), "{}",
      message.empty() ? fmt::format("the gateway answered {}", http_status) : message);
}

std::string BodyOf(const CompletionOptions& request) {
  Json body = {{"model", request.model},
               {"max_tokens", request.max_tokens},
               {"temperature", request.temperature},
               {"top_k", request.top_k},
               {"top_p", request.top_p},
               {"min_p", request.min_p},
               {"presence_penalty", request.presence_penalty},
               {"frequency_penalty", request.frequency_penalty},
               {"seed", request.seed},
               {"n", request.count},
               {"stream", true}};
  std::visit([&body](const auto& prompt) { body["prompt"] = prompt; }, request.prompt);
  if (!request.stop.empty()) body["stop"] = request.stop;
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Passes the texts of one completion event to `on_text`. Returns the error that the event reports.
Status HandleChunk(const std::string& event, const GatewayClient::OnText& on_text) {
  if (event == "[DONE]") return OkStatus();
  const Json chunk = Json::parse(event, nullptr, false);
  if (!chunk.is_object()) return DataLoss("the gateway sent an event that is not a JSON object");
  if (chunk.contains("error")) return ErrorOfEvent(chunk);
  if (!chunk.contains("choices") || !chunk["choices"].is_array()) return OkStatus();
  for (const Json& choice : chunk["choices"]) {
    if (!choice.is_object() || !choice.contains("text") || !choice["text"].is_string()) continue;
    on_text(choice.value("index", 0), choice["text"].get<std::string>());
  }
  return OkStatus();
}

// `body` is not copied, so it must outlive the transfer.
void SetOptions(CURL* easy, const GatewayClientOptions& options, const std::string& body,
                Receiver& receiver) {
  const auto set = [easy](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
  set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http");
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME,
      static_cast<long>(std::max<int64_t>(1, options.silence_max.count() / 1000)));
  set(CURLOPT_WRITEFUNCTION, &ReceivePiece);
  set(CURLOPT_WRITEDATA, &receiver);
  if (body.empty()) return;
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_POSTFIELDS, body.c_str());
}

// Runs the transfer until it is done or interrupted.
CURLcode Drive(CURLM* multi, Interruption& interruption) {
  const auto scope = interruption.OnRequest([multi] { curl_multi_wakeup(multi); });
  CURLcode result = CURLE_OK;
  for (int running = 1; running > 0 && !interruption.requested();) {
    curl_multi_perform(multi, &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg == CURLMSG_DONE) result = message->data.result;
    }
    if (running > 0) curl_multi_poll(multi, nullptr, 0, kPollMilliseconds, nullptr);
  }
  return result;
}

}  // namespace

GatewayClient::GatewayClient(GatewayClientOptions options, Interruption& interruption)
    : options_(std::move(options)), interruption_(interruption) {
  InitCurlOnce();
}

Status GatewayClient::Perform(const Call& call) {
  const Easy easy(curl_easy_init());
  const Multi multi(curl_multi_init());
  if (easy == nullptr || multi == nullptr)
    return ResourceExhausted("not enough memory for a request");
  Receiver receiver{.easy = easy.get(), .on_body = &call.on_body};
  const HeaderList headers(curl_slist_append(nullptr, "Content-Type: application/json"));
  curl_easy_setopt(easy.get(), CURLOPT_URL, ("http://" + options_.address + call.path).c_str());
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  SetOptions(easy.get(), options_, call.body, receiver);
  curl_multi_add_handle(multi.get(), easy.get());
  const CURLcode result = Drive(multi.get(), interruption_);
  const int64_t http_status = HttpStatus(easy.get());
  curl_multi_remove_handle(multi.get(), easy.get());
  if (interruption_.requested()) return Cancelled("interrupted");
  RETURN_IF_ERROR(receiver.status);
  if (result != CURLE_OK) {
    return Unavailable("the gateway at {}: {}", options_.address, curl_easy_strerror(result));
  }
  return http_status >= 300 ? ErrorOfAnswer(http_status, receiver.error_body) : OkStatus();
}

StatusOr<std::string> GatewayClient::Fetch(const std::string& path, const std::string& body) {
  std::string answer;
  RETURN_IF_ERROR(Perform({path, body, [&answer](std::string_view piece) {
                             if (answer.size() + piece.size() > kAnswerBytesMax) {
                               return DataLoss("the gateway's answer is too long");
                             }
                             answer += piece;
                             return OkStatus();
                           }}));
  return answer;
}

StatusOr<std::vector<GatewayModel>> GatewayClient::Models() {
  ASSIGN_OR_RETURN(const std::string answer, Fetch("/v1/models"));
  const Json json = Json::parse(answer, nullptr, false);
  if (!json.is_object() || !json.contains("data") || !json["data"].is_array()) {
    return DataLoss("{} is not a gateway of gp: it does not list models", options_.address);
  }
  std::vector<GatewayModel> models;
  for (const Json& entry : json["data"]) {
    if (!entry.is_object()) continue;
    const auto number = [&entry](const char* key) {
      return entry.contains(key) && entry[key].is_number_integer() ? entry[key].get<int64_t>() : 0;
    };
    const auto text = [&entry](const char* key) {
      return entry.contains(key) && entry[key].is_string() ? entry[key].get<std::string>() : "";
    };
    models.push_back({text("id"), text("root"), number("step"), number("max_model_len")});
  }
  return models;
}

StatusOr<Tokens> GatewayClient::Tokenize(const std::string& model, const std::string& text) {
  const Json body = {{"model", model}, {"prompt", text}, {"parse_special", false}};
  ASSIGN_OR_RETURN(const std::string answer,
                   Fetch("/tokenize", body.dump(-1, ' ', false, Json::error_handler_t::replace)));
  const Json json = Json::parse(answer, nullptr, false);
  try {
    return Tokens{json.at("tokens").get<std::vector<int32_t>>(), json.value("max_model_len", 0)};
  } catch (const Json::exception&) {
    return DataLoss("the gateway at {} answered /tokenize without tokens", options_.address);
  }
}

Status GatewayClient::Complete(const CompletionOptions& request, const OnText& on_text) {
  EventReader events;
  Status status;
  bool done = false;
  const auto on_event = [&](const std::string& event) {
    if (status.ok()) status = HandleChunk(event, on_text);
    done = done || event == "[DONE]";
  };
  const auto on_body = [&](std::string_view piece) {
    const Status read = events.Feed(piece, on_event);
    return status.ok() ? read : status;
  };
  RETURN_IF_ERROR(Perform({"/v1/completions", BodyOf(request), on_body}));
  if (!done) return Unavailable("the gateway at {} ended the text early", options_.address);
  return OkStatus();
}

}  // namespace gp::client
