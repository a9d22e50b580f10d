#include "tokenizer/data/data_tokenizer.h"

#include "base/file.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/files/nanogpt_meta.h"
#include "tokenizer/files/tokenizer_file.h"

namespace gp {

StatusOr<std::unique_ptr<Tokenizer>> MakeTextTokenizer(const std::string& kind,
                                                       std::string_view text) {
  if (kind == "chars") return CharTokenizer::FromText(text);
  if (kind == "gpt2") return BytePairTokenizer::InstalledGpt2();
  if (kind == "bytes") return std::make_unique<ByteTokenizer>();
  auto tokenizer = ReadTokenizer(kind);
  if (!tokenizer.ok()) return WithContext(tokenizer.status(), "data.tokenizer");
  return tokenizer;
}

StatusOr<std::unique_ptr<Tokenizer>> MakeShardTokenizer(const std::string& kind,
                                                        const std::string& first_shard) {
  if (kind != "chars") return MakeTextTokenizer(kind, "");
  const std::string path = JoinPath(DirectoryOf(first_shard), "meta.pkl");
  if (!FileExists(path)) {
    return NotFound(
        "data.tokenizer: chars maps the ids of {} to characters with nanoGPT's meta.pkl, but {} "
        "does not exist; copy it there, or train on the text itself with data.text",
        first_shard, path);
  }
  return ReadNanoGptMeta(path);
}

}  // namespace gp
