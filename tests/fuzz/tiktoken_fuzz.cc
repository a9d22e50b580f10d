// An untrusted .tiktoken file. If the first byte is 1, the rest is appended to valid lines for the
// 256 bytes, so that ranks and merges are reached.
#include <cstdint>
#include <string>

#include "fuzz/tokenizer_promises.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/files/tiktoken_text.h"

namespace {

std::string ByteLines() {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string lines;
  for (unsigned byte = 0; byte < 256; ++byte) {
    lines += kDigits[byte >> 2];
    lines += kDigits[(byte & 3) << 4];
    lines += "== " + std::to_string(byte) + "\n";
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string kByteLines = ByteLines();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool after_bytes = text.starts_with('\x01');
  auto vocabulary =
      gp::ParseTiktoken(after_bytes ? kByteLines + std::string(text.substr(1)) : std::string(text));
  if (!vocabulary.ok()) {
    gp::CheckPromises(vocabulary.status(), text);
  } else {
    gp::CheckPromises(gp::MakeBytePairTokenizer(*std::move(vocabulary)), text);
  }
  return 0;
}
