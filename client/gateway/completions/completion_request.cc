#include "client/gateway/completions/completion_request.h"

#include <charconv>
#include <limits>
#include <utility>

#include "client/gateway/completions/json_body.h"

namespace gp::gateway {
namespace {

using Json = nlohmann::json;

constexpr double kIdMax = std::numeric_limits<int32_t>::max();
constexpr double kTokensMax = 1e6;  // a coarse limit; the model's context is the exact one
constexpr double kTemperatureMax = 100;
constexpr double kPenaltyMax = 2;
constexpr double kBiasMax = 100;

std::optional<std::vector<int32_t>> IdsOf(const Json& array) {
  std::vector<int32_t> ids;
  ids.reserve(array.size());
  for (const Json& element : array) {
    const auto id = element.is_number_integer() ? WholeNumber(element) : std::nullopt;
    if (!id || *id < 0 || static_cast<double>(*id) > kIdMax) return std::nullopt;
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

// One prompt of a list: a string or a list of token ids. Nullopt for anything else.
std::optional<Prompt> PromptOf(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_array()) return std::nullopt;
  auto ids = IdsOf(json);
  if (!ids) return std::nullopt;
  return *std::move(ids);
}

void ReadPrompts(JsonBody& body, std::vector<Prompt>& prompts) {
  const Json* found = body.Find("prompt");
  if (found == nullptr) {
    prompts.emplace_back(std::string());
    return;
  }
  constexpr const char* kExpected =
      "prompt is not a string, a list of strings, a list of token ids or a list of such lists";
  const bool of_ids = found->is_array() && !found->empty() && found->front().is_number();
  if (found->is_string() || of_ids) {
    auto prompt = PromptOf(*found);
    if (!prompt) return body.Fail("prompt", kExpected);
    prompts.push_back(*std::move(prompt));
    return;
  }
  if (!found->is_array() || found->empty()) return body.Fail("prompt", kExpected);
  if (found->size() > static_cast<size_t>(kTextsMax)) {
    return body.Fail("prompt", fmt::format("prompt holds {} prompts, at most {} are allowed",
                                           found->size(), kTextsMax));
  }
  for (const Json& element : *found) {
    auto prompt = PromptOf(element);
    if (!prompt) return body.Fail("prompt", kExpected);
    prompts.push_back(*std::move(prompt));
  }
}

void ReadStop(JsonBody& body, std::vector<std::string>& stop) {
  const Json* found = body.Find("stop");
  if (found == nullptr) return;
  const size_t count = found->is_array() ? found->size() : 1;
  if (count > kStopsMax) {
    return body.Fail(
        "stop", fmt::format("stop holds {} strings, at most {} are allowed", count, kStopsMax));
  }
  for (size_t i = 0; i < count; ++i) {
    const Json& element = found->is_array() ? (*found)[i] : *found;
    if (!element.is_string()) {
      return body.Fail("stop", "stop is not a string or a list of strings");
    }
    // An empty string would end every text at once; clients send it when they mean no stop string.
    if (!element.get_ref<const std::string&>().empty()) stop.push_back(element);
  }
}

void ReadBias(JsonBody& body, std::map<int32_t, double>& bias) {
  const Json* found = body.Find("logit_bias");
  if (found == nullptr) return;
  constexpr const char* kExpected =
      "logit_bias is not an object of token ids and numbers from -100 to 100";
  if (!found->is_object()) return body.Fail("logit_bias", kExpected);
  if (found->size() > kBiasesMax) {
    return body.Fail("logit_bias", fmt::format("logit_bias names {} tokens, at most {} are allowed",
                                               found->size(), kBiasesMax));
  }
  for (const auto& [key, value] : found->items()) {
    int32_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool is_id = error == std::errc() && end == key.data() + key.size() && id >= 0;
    const double number = value.is_number() ? value.get<double>() : kBiasMax + 1;
    if (!is_id || !(number >= -kBiasMax && number <= kBiasMax)) {
      return body.Fail("logit_bias", kExpected);
    }
    bias[id] = number;
  }
}

// Accepts negative seeds too: any 64-bit integer is a seed.
void ReadSeed(JsonBody& body, std::optional<uint64_t>& seed) {
  const Json* found = body.Find("seed");
  if (found == nullptr) return;
  if (found->is_number_unsigned()) {
    seed = found->get<uint64_t>();
  } else if (const auto number = WholeNumber(*found)) {
    seed = static_cast<uint64_t>(*number);
  } else {
    body.Fail("seed", "seed is not a whole number of 64 bits");
  }
}

void ReadLogprobs(JsonBody& body, std::optional<int64_t>& logprobs) {
  const Json* found = body.Find("logprobs");
  if (found == nullptr) return;
  // Chat clients send true or false instead of a number.
  if (found->is_boolean()) {
    if (found->get<bool>()) logprobs = 0;
    return;
  }
  int64_t count = 0;
  body.Read("logprobs", count, {0, static_cast<double>(kLogprobsMax)});
  logprobs = count;
}

void ReadStreamOptions(JsonBody& body, CompletionRequest& request) {
  const Json* found = body.Find("stream_options");
  if (found == nullptr) return;
  if (!found->is_object()) return body.Fail("stream_options", "stream_options is not an object");
  if (!request.stream) {
    return body.Fail("stream_options", "stream_options requires stream: true");
  }
  for (const auto& [name, value] : found->items()) {
    if (name != "include_usage") body.Ignore("stream_options." + name);
  }
  const auto usage = found->find("include_usage");
  if (usage == found->end() || usage->is_null()) return;
  if (!usage->is_boolean()) {
    return body.Fail("stream_options", "stream_options.include_usage is not true or false");
  }
  request.include_usage = usage->get<bool>();
}

void ReadCounts(JsonBody& body, CompletionRequest& request) {
  body.Read("max_tokens", request.max_tokens, {0, kTokensMax});
  body.Read("n", request.n, {1, static_cast<double>(kTextsMax)});
  int64_t best_of = request.n;
  body.Read("best_of", best_of, {1, static_cast<double>(kTextsMax)});
  if (best_of != request.n) body.Fail("best_of", "best_of is not supported, unless it equals n");
  const Json* suffix = body.Find("suffix");
  if (suffix != nullptr && *suffix != "") {
    body.Fail("suffix", "suffix is not supported: this model only continues text");
  }
  if (request.texts() > kTextsMax) {
    body.Fail("n", fmt::format("n times the number of prompts is {}, at most {} are allowed",
                               request.texts(), kTextsMax));
  }
}

void ReadSampling(JsonBody& body, CompletionRequest& request) {
  body.Read("temperature", request.temperature, {0, kTemperatureMax});
  // vLLM's clients send -1 for no limit.
  body.Read("top_k", request.top_k, {-1, kIdMax});
  if (request.top_k < 0) request.top_k = 0;
  body.Read("top_p", request.top_p, {0, 1});
  body.Read("min_p", request.min_p, {0, 1});
  body.Read("presence_penalty", request.presence_penalty, {-kPenaltyMax, kPenaltyMax});
  body.Read("frequency_penalty", request.frequency_penalty, {-kPenaltyMax, kPenaltyMax});
  ReadBias(body, request.logit_bias);
  ReadSeed(body, request.seed);
  ReadStop(body, request.stop);
  body.Read("ignore_eos", request.ignore_eos);
}

}  // namespace

size_t CompletionRequest::bytes() const {
  constexpr size_t kBiasBytes = 64;  // memory of one map node
  size_t bytes = logit_bias.size() * kBiasBytes;
  for (const std::string& text : stop) bytes += text.size();
  for (const Prompt& prompt : prompts) {
    if (const auto* ids = std::get_if<std::vector<int32_t>>(&prompt)) {
      bytes += ids->size() * sizeof(int32_t);
    } else {
      bytes += std::get<std::string>(prompt).size();
    }
  }
  return bytes;
}

std::variant<CompletionRequest, http::ApiError> ParseCompletionRequest(std::string_view text) {
  JsonBody body(text);
  CompletionRequest request;
  body.ReadName("model", request.model);
  ReadPrompts(body, request.prompts);
  body.Read("parse_special", request.parse_special);
  ReadCounts(body, request);
  ReadSampling(body, request);
  ReadLogprobs(body, request.logprobs);
  body.Read("echo", request.echo);
  body.Read("stream", request.stream);
  ReadStreamOptions(body, request);
  std::string user;
  body.ReadName("user", user);
  if (body.error()) return *body.error();
  request.ignored = body.Ignored();
  return request;
}

}  // namespace gp::gateway
