#include "interop/model_tokenizer.h"

#include <utility>

#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/tokenizer_file.h"

namespace gp::interop {
namespace {

constexpr int64_t kGpt2Ids = 50257;

StatusOr<std::shared_ptr<const Tokenizer>> Shared(StatusOr<std::unique_ptr<Tokenizer>> tokenizer) {
  RETURN_IF_ERROR(tokenizer.status());
  return std::shared_ptr<const Tokenizer>(*std::move(tokenizer));
}

}  // namespace

StatusOr<std::shared_ptr<const Tokenizer>> TokenizerIn(const std::string& directory) {
  auto tokenizer = Shared(ReadTokenizer(directory));
  if (tokenizer.status().code() == StatusCode::kNotFound) {
    return std::shared_ptr<const Tokenizer>();
  }
  return tokenizer;
}

StatusOr<std::shared_ptr<const Tokenizer>> TokenizerFor(const ModelSource& source) {
  if (source.tokenizer() != nullptr) return source.tokenizer();
  if (source.shape().vocabulary == kGpt2Ids) return Shared(BytePairTokenizer::InstalledGpt2());
  return InvalidArgument(
      "{} comes without a tokenizer, and {} ids are not GPT-2's: name one with "
      "--tokenizer",
      source.path(), source.shape().vocabulary);
}

}  // namespace gp::interop
