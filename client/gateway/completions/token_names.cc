#include "client/gateway/completions/token_names.h"

#include <algorithm>

#include "base/utf8.h"

namespace gp::gateway {
namespace {

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    if (!TakeCodePoint(text)) return false;
  }
  return true;
}

}  // namespace

std::string TokenName(const Tokenizer& tokenizer, int32_t id) {
  std::string text = tokenizer.Decode({&id, 1});
  if (IsUtf8(text)) return text;
  std::string name = "bytes:";
  for (const char byte : text) {
    fmt::format_to(std::back_inserter(name), "\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return name;
}

int64_t CountCodePoints(std::string_view bytes) {
  return std::count_if(bytes.begin(), bytes.end(),
                       [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; });
}

}  // namespace gp::gateway
