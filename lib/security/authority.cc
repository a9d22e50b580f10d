#include "security/authority.h"

#include <arpa/inet.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "base/random_id.h"
#include "security/node_name.h"

namespace gp::security {
namespace {

constexpr std::chrono::hours kAuthorityLifetime{24 * 3652};
constexpr size_t kHostsMax = 128;
constexpr size_t kNameBytesMax = 253;

bool IsIpAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// Whether the name has only characters without a special meaning in OpenSSL's text form of
// extensions.
bool IsPlainName(const std::string& name) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view(".-_:*").find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::all_of(name.begin(), name.end(), plain);
}

void SetLifetime(X509* certificate, WallTime begin, WallTime end) {
  const auto seconds = [](WallTime time) {
    return static_cast<std::time_t>(
        std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count());
  };
  GP_CHECK(ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(begin)) != nullptr);
  GP_CHECK(ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(end)) != nullptr);
}

// A random number of 127 bits: positive and never zero.
void SetRandomSerial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  GP_CHECK(RAND_bytes(bytes.data(), bytes.size()) == 1);
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);
  BIGNUM* number = BN_bin2bn(bytes.data(), bytes.size(), nullptr);
  GP_CHECK(BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr);
  BN_free(number);
}

void SetCommonName(X509_NAME* name, const std::string& text) {
  GP_CHECK(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(text.data()),
                                      static_cast<int>(text.size()), -1, 0) == 1);
}

bool AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, OpensslFree<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

const EVP_MD* DigestFor(EVP_PKEY* key) {
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256();
}

CertificatePointer NewCertificate() {
  CertificatePointer certificate(X509_new());
  GP_CHECK(certificate != nullptr);
  GP_CHECK(X509_set_version(certificate.get(), X509_VERSION_3) == 1);
  SetRandomSerial(certificate.get());
  return certificate;
}

}  // namespace

Authority Authority::Create(WallTime now) {
  PrivateKey key = PrivateKey::Generate();
  CertificatePointer certificate = NewCertificate();
  X509* x509 = certificate.get();
  SetLifetime(x509, now - kClockSkew, now + kAuthorityLifetime);
  // A client that trusts two authorities finds the right one by its name.
  SetCommonName(X509_get_subject_name(x509), "gp authority " + RandomId(10));
  GP_CHECK(X509_set_issuer_name(x509, X509_get_subject_name(x509)) == 1);
  GP_CHECK(X509_set_pubkey(x509, key.get()) == 1);
  GP_CHECK(AddExtension(x509, x509, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  GP_CHECK(AddExtension(x509, x509, NID_key_usage, "critical,keyCertSign,cRLSign"));
  GP_CHECK(AddExtension(x509, x509, NID_subject_key_identifier, "hash"));
  GP_CHECK(X509_sign(x509, key.get(), EVP_sha256()) > 0);
  return {std::move(key), Certificate(std::move(certificate))};
}

StatusOr<Authority> Authority::Read(std::string_view certificate_pem, std::string_view key_pem) {
  ASSIGN_OR_RETURN(Certificate certificate, Certificate::FromPem(certificate_pem));
  ASSIGN_OR_RETURN(PrivateKey key, PrivateKey::FromPem(key_pem));
  RETURN_IF_ERROR(certificate.CheckKey(key));
  if (!certificate.IsAuthority()) {
    return FailedPrecondition("the certificate may not sign others: it is not a CA certificate");
  }
  return Authority(std::move(key), std::move(certificate));
}

StatusOr<Certificate> Authority::Issue(EVP_PKEY* key, const std::string& name,
                                       const std::string& usage,
                                       const std::string& alternative_names, WallTime now,
                                       std::chrono::nanoseconds lifetime) const {
  CertificatePointer certificate = NewCertificate();
  X509* x509 = certificate.get();
  const WallTime end = now + std::chrono::ceil<std::chrono::seconds>(lifetime);
  SetLifetime(x509, now - kClockSkew, std::min(end, certificate_.lifetime().end));
  SetCommonName(X509_get_subject_name(x509), name);
  GP_CHECK(X509_set_issuer_name(x509, X509_get_subject_name(certificate_.get())) == 1);
  GP_CHECK(X509_set_pubkey(x509, key) == 1);
  X509* issuer = certificate_.get();
  const bool complete = AddExtension(x509, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                        AddExtension(x509, issuer, NID_key_usage, "critical,digitalSignature") &&
                        AddExtension(x509, issuer, NID_ext_key_usage, usage) &&
                        AddExtension(x509, issuer, NID_authority_key_identifier, "keyid") &&
                        AddExtension(x509, issuer, NID_subject_alt_name, alternative_names);
  if (!complete) {
    return InvalidArgument("a certificate cannot hold the names {}: {}", alternative_names,
                           TakeOpensslError());
  }
  if (X509_sign(x509, key_.get(), DigestFor(key_.get())) <= 0) {
    return Internal("the certificate cannot be signed: {}", TakeOpensslError());
  }
  return Certificate(std::move(certificate));
}

StatusOr<Certificate> Authority::IssueServer(const PrivateKey& key,
                                             const std::vector<std::string>& hosts, WallTime now,
                                             std::chrono::nanoseconds lifetime) const {
  if (hosts.empty() || hosts.size() > kHostsMax) {
    return InvalidArgument("a server certificate names 1 to {} hosts; {} were given", kHostsMax,
                           hosts.size());
  }
  std::string names;
  for (const std::string& host : hosts) {
    if (!IsPlainName(host)) {
      return InvalidArgument("'{}' is neither an IP address nor a DNS name", host);
    }
    names += (names.empty() ? "" : ",") + std::string(IsIpAddress(host) ? "IP:" : "DNS:") + host;
  }
  return Issue(key.get(), "gp coordinator", "serverAuth", names, now, lifetime);
}

StatusOr<Certificate> Authority::IssueClient(const CertificateRequest& request,
                                             const std::string& uri, WallTime now,
                                             std::chrono::nanoseconds lifetime) const {
  if (!IsPlainName(uri))
    return InvalidArgument("'{}' contains characters that a certificate name must not have", uri);
  return Issue(X509_REQ_get0_pubkey(request.get()), "gp node", "clientAuth,serverAuth",
               fmt::format("URI:{},DNS:{}", uri, kNodeHost), now, lifetime);
}

}  // namespace gp::security
