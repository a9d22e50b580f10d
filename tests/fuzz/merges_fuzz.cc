// An untrusted vocab.bpe; the tokenizer then encodes the file's own content.
#include <cstdint>

#include "fuzz/tokenizer_promises.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/merges_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto vocabulary = gp::ParseNumberedMerges(text);
  if (!vocabulary.ok()) {
    GP_CHECK(vocabulary.status().message().find("line ") == 0);
    return 0;
  }
  gp::CheckPromises(gp::MakeBytePairTokenizer(*std::move(vocabulary)), text);
  return 0;
}
