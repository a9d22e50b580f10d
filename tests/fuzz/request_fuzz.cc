// Untrusted input for the gateway's parsers: a body of /v1/completions, a request target, or a file
// of keys. Run by libFuzzer (target gateway_request_fuzz of a build with clang), and over the
// corpus by a unit test.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/check.h"
#include "client/gateway/completions/completion_request.h"
#include "http/api_error.h"
#include "http/api_keys.h"
#include "http/content_coding.h"
#include "http/json_text.h"
#include "http/message.h"

namespace {

using namespace gp::gateway;
namespace http = gp::http;

void TryCompletion(std::string_view text) {
  const auto parsed = ParseCompletionRequest(text);
  if (const auto* error = std::get_if<http::ApiError>(&parsed)) {
    GP_CHECK(error->status == 400 && !error->message.empty());
    GP_CHECK(nlohmann::json::accept(http::ErrorBody(*error)));
    return;
  }
  const auto& request = std::get<CompletionRequest>(parsed);
  GP_CHECK(!request.prompts.empty() && request.texts() <= kTextsMax && request.n >= 1);
  GP_CHECK(request.max_tokens >= 0 && request.temperature >= 0 && request.top_k >= 0);
  GP_CHECK(request.top_p >= 0 && request.top_p <= 1 && request.stop.size() <= kStopsMax);
  for (const std::string& stop : request.stop) GP_CHECK(!stop.empty());
}

void TryContentCoding(std::string_view text) {
  constexpr size_t kBytesMax = 1 << 16;
  http::Request request{.headers = {{"content-encoding", "gzip"}}, .body = std::string(text)};
  const auto error = http::DecodeBody(request, kBytesMax);
  GP_CHECK(error || request.body.size() <= kBytesMax);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  TryCompletion(text);
  TryContentCoding(text);
  const auto target = http::ParseTarget(text);
  GP_CHECK(!target.ok() || !target->path.empty());
  (void)http::ApiKeys::Parse(text, "keys");
  GP_CHECK(nlohmann::json::accept(http::JsonString(text)));
  return 0;
}
