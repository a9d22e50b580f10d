// Parses an untrusted token. An accepted token formats to exactly the same text; an error message
// never contains the refused text.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "rpc/token.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gp::rpc;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto token = ParseToken(text);
  if (!token.ok()) {
    // The error message is the same for every refused text.
    GP_CHECK(gp::Message(token.status()) == gp::Message(ParseToken("").status()));
    return 0;
  }
  GP_CHECK(token->id.size() == 10 && token->secret.size() == 64);
  GP_CHECK(token->ca_digest.empty() || token->ca_digest.size() == 64);
  GP_CHECK(TokenText(*token) == text);
  GP_CHECK(ParseToken(TokenText(*token)).value() == *token);
  return 0;
}
