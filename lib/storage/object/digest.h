// The digests of S3's signatures and uploads, over OpenSSL, and their texts. Pure functions;
// thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace gp::object {

// Digests as bytes.
std::string Sha256(std::string_view data);
std::string HmacSha256(std::string_view key, std::string_view data);
std::string Md5(std::string_view data);

// Lower-case hexadecimal digits.
std::string Hex(std::string_view bytes);
std::string Base64(std::string_view bytes);

}  // namespace gp::object
