// Token ids encoded as in files without a header, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace gp::formats {

inline constexpr size_t kTokenCount = 2000;

template <typename Integer>
std::string BytesOf(const std::vector<int64_t>& tokens) {
  std::string bytes;
  for (const int64_t token : tokens) {
    const auto value = static_cast<Integer>(token);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

template <typename Integer>
std::string BigEndianBytesOf(const std::vector<int64_t>& tokens) {
  std::string bytes;
  for (const int64_t token : tokens) {
    const std::string one = BytesOf<Integer>({token});
    bytes.append(one.rbegin(), one.rend());
  }
  return bytes;
}

// Ids distributed as in a text: small ones are frequent, large ones rare.
inline std::vector<int64_t> Tokens(int64_t vocabulary) {
  std::minstd_rand random(7);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < kTokenCount; ++i) {
    tokens.push_back(
        static_cast<int64_t>(static_cast<double>(vocabulary) * share(random) * share(random)));
  }
  return tokens;
}

}  // namespace gp::formats
