// Random identifiers and secrets from the kernel's generator. Thread-safe.
#pragma once

#include <cstddef>
#include <string>

namespace gp {

// `length` characters of Crockford base32 in lower case (no i, l, o, u): 5 random bits each.
std::string RandomId(size_t length);

// `byte_count` random bytes as lower-case hexadecimal digits.
std::string RandomHex(size_t byte_count);

}  // namespace gp
