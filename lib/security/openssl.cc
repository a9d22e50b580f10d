#include "security/openssl.h"

#include <openssl/crypto.h>
#include <openssl/err.h>

#include "base/check.h"

namespace gp::security {

std::string TakeOpensslError() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown reason" : reason;
}

void RegisterOpensslExit() { GP_CHECK(OPENSSL_init_crypto(0, nullptr) == 1); }

BioPointer ReadingBio(std::string_view text) {
  BioPointer bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  GP_CHECK(bio != nullptr);
  return bio;
}

BioPointer WritingBio() {
  BioPointer bio(BIO_new(BIO_s_mem()));
  GP_CHECK(bio != nullptr);
  return bio;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

std::string HexOf(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::string Sha256Hex(std::string_view bytes) {
  char digest[EVP_MAX_MD_SIZE];
  size_t size = 0;
  GP_CHECK(EVP_Q_digest(nullptr, "SHA256", nullptr, bytes.data(), bytes.size(),
                        reinterpret_cast<unsigned char*>(digest), &size) == 1);
  return HexOf({digest, size});
}

}  // namespace gp::security
