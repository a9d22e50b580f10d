// Guesses the width and byte order of token ids in a file without a header. A guess may be wrong: a
// caller that refuses the file names the setting that accepts it. Pure; any thread may call.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gp::formats {

struct TokenForm {
  int bytes = 0;  // per token
  bool big_endian = false;
  bool masked = false;  // some are negative, such as labels of -100
  bool operator==(const TokenForm&) const = default;
};

// The form when `begin` looks like tokens of 4 or 8 bytes in either order; otherwise nullopt.
// `begin` holds the first kLikenessBytes of the file (formats/likeness/likeness.h), or all of it.
std::optional<TokenForm> WiderTokens(std::string_view begin);

// True for 1-byte tokens with ids below 128: both bytes of each uint16 then have the same
// distribution. ASCII text does too: call LooksLikeText first. `begin` as above.
bool LooksLikeOneByteTokens(std::string_view begin);

// True for 2-byte tokens that make sense only with their bytes swapped: only then are their ids
// below `vocabulary`, or do they vary as ids do, more in the lower byte than in the upper one.
// `begin` as above.
bool LooksByteSwapped(std::string_view begin, int64_t vocabulary);

}  // namespace gp::formats
