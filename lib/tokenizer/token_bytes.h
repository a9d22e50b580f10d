// TokenBytes: the number of text bytes of each token, which converts nats per token into bits per
// byte. Constant after construction; any thread may call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace gp {

class TokenBytes {
 public:
  // Special tokens have no bytes.
  explicit TokenBytes(const Tokenizer& tokenizer);

  // The number of bytes of all tokens together; a token of -1 counts as no bytes. Nullopt if the
  // tokenizer does not define one of them.
  std::optional<int64_t> Sum(std::span<const int32_t> tokens) const;

 private:
  std::vector<int64_t> bytes_;  // by id
};

}  // namespace gp
