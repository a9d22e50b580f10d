#include "client/gateway/completions/token_names.h"

#include "base/text/utf8.h"

namespace gp::gateway {

std::string TokenName(const Tokenizer& tokenizer, int32_t id) {
  std::string text = tokenizer.Decode({&id, 1});
  if (IsUtf8(text)) return text;
  std::string name = "bytes:";
  for (const char byte : text) {
    fmt::format_to(std::back_inserter(name), "\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return name;
}

}  // namespace gp::gateway
