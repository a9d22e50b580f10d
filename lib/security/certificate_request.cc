#include "security/certificate_request.h"

#include <openssl/pem.h>

#include "base/check.h"

namespace gp::security {
namespace {

constexpr size_t kRequestBytesMax = 16 << 10;
constexpr int kRsaBitsMin = 2048;
constexpr int kRsaBitsMax = 8192;
constexpr int kCurveBitsMin = 256;

bool IsStrong(EVP_PKEY* key) {
  const int bits = EVP_PKEY_get_bits(key);
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_EC:
      return bits >= kCurveBitsMin;
    case EVP_PKEY_ED25519:
      return true;
    case EVP_PKEY_RSA:
      return bits >= kRsaBitsMin && bits <= kRsaBitsMax;
    default:
      return false;
  }
}

}  // namespace

CertificateRequest CertificateRequest::For(const PrivateKey& key) {
  RequestPointer request(X509_REQ_new());
  GP_CHECK(request != nullptr);
  GP_CHECK(X509_REQ_set_pubkey(request.get(), key.get()) == 1);
  const EVP_MD* digest =
      EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256();
  GP_CHECK(X509_REQ_sign(request.get(), key.get(), digest) > 0);
  return CertificateRequest(std::move(request));
}

StatusOr<CertificateRequest> CertificateRequest::FromPem(std::string_view pem) {
  if (pem.size() > kRequestBytesMax) {
    return InvalidArgument("the certificate request has {} bytes; at most {} are read", pem.size(),
                           kRequestBytesMax);
  }
  const BioPointer bio = ReadingBio(pem);
  RequestPointer request(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  if (request == nullptr) {
    return InvalidArgument("not a certificate request in PEM: {}", TakeOpensslError());
  }
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  const bool is_signed = key != nullptr && X509_REQ_verify(request.get(), key) == 1;
  (void)TakeOpensslError();
  if (!is_signed) return InvalidArgument("the certificate request is not signed with its own key");
  if (!IsStrong(key)) {
    return InvalidArgument(
        "the key of the certificate request is too weak or of an unknown kind; expected P-256, "
        "Ed25519, or RSA of 2048 bits or more");
  }
  return CertificateRequest(std::move(request));
}

std::string CertificateRequest::KeyDigest() const {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_REQ_get_X509_PUBKEY(request_.get()), &der);
  GP_CHECK(size > 0);
  const std::string digest = Sha256Hex({reinterpret_cast<char*>(der), static_cast<size_t>(size)});
  OPENSSL_free(der);
  return digest;
}

std::string CertificateRequest::Pem() const {
  const BioPointer bio = WritingBio();
  GP_CHECK(PEM_write_bio_X509_REQ(bio.get(), request_.get()) == 1);
  return TextOf(bio.get());
}

}  // namespace gp::security
