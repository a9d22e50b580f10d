// A file of token ids in any of its three forms. The ids that can be read are below the vocabulary
// size, do not depend on where reading starts, and are the same after being written and read again.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "formats/token_shard.h"
#include "fuzz/bytes_file.h"

namespace {

using namespace gp;
using namespace gp::formats;

constexpr int64_t kVocabulary = 50257;

void CheckSame(const std::vector<int32_t>& tokens) {
  const std::string text = FormatLlmCShard(tokens);
  const BytesFile bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  const auto shard = TokenShard::Open(bytes.path());
  GP_CHECK(shard.ok() && shard->format() == ShardFormat::kLlmC &&
           shard->size() == std::ssize(tokens));
  std::vector<int32_t> again(tokens.size());
  GP_CHECK(shard->Read(0, kVocabulary, again).ok() && again == tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const BytesFile bytes(data, size);
  const auto shard = TokenShard::Open(bytes.path());
  if (!shard.ok()) {
    GP_CHECK(Message(shard.status()).find(bytes.path()) != std::string::npos);
    return 0;
  }
  GP_CHECK(shard->size() >= 0 && shard->size() <= static_cast<int64_t>(size));
  GP_CHECK(!shard->Fingerprint().empty() && !ShardFormatName(shard->format()).empty());
  std::vector<int32_t> tokens(static_cast<size_t>(shard->size()));
  shard->Expect(0, shard->size());
  const Status read = shard->Read(0, kVocabulary, tokens);
  if (!read.ok()) {
    GP_CHECK(read.code() == StatusCode::kInvalidArgument);
    return 0;
  }
  for (const int32_t token : tokens) GP_CHECK(token >= 0 && token < kVocabulary);
  const int64_t half = shard->size() / 2;
  std::vector<int32_t> rest(static_cast<size_t>(shard->size() - half));
  GP_CHECK(shard->Read(half, kVocabulary, rest).ok());
  GP_CHECK(std::equal(rest.begin(), rest.end(), tokens.begin() + half));
  CheckSame(tokens);
  return 0;
}
