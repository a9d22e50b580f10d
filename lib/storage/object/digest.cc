#include "storage/object/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"

namespace gp::object {
namespace {

std::string Digest(const EVP_MD* kind, std::string_view data) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  GP_CHECK(EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(digest.data()),
                      &size, kind, nullptr) == 1);
  digest.resize(size);
  return digest;
}

}  // namespace

std::string Sha256(std::string_view data) { return Digest(EVP_sha256(), data); }

std::string Md5(std::string_view data) { return Digest(EVP_md5(), data); }

std::string HmacSha256(std::string_view key, std::string_view data) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  GP_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                reinterpret_cast<const unsigned char*>(data.data()), data.size(),
                reinterpret_cast<unsigned char*>(digest.data()), &size) != nullptr);
  digest.resize(size);
  return digest;
}

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::string Base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // EVP_EncodeBlock adds a null byte
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

}  // namespace gp::object
