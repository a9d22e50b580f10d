#include "coordinator/notifications/signature.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/check.h"

namespace gp::coordinator {

std::string SignatureOf(std::string_view secret, int64_t timestamp, std::string_view body) {
  const std::string text = fmt::format("{}.{}", timestamp, body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const unsigned char* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                   reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                   digest.data(), &length);
  GP_CHECK(made != nullptr);
  std::string signature = "v1=";
  for (unsigned int i = 0; i < length; ++i) signature += fmt::format("{:02x}", digest.at(i));
  return signature;
}

}  // namespace gp::coordinator
