#include "security/certificate.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <ctime>

#include "base/check.h"

namespace gp::security {
namespace {

constexpr size_t kChainMax = 64;

using NamesPointer = std::unique_ptr<GENERAL_NAMES, OpensslFree<GENERAL_NAMES_free>>;

WallTime ToWallTime(const ASN1_TIME* time) {
  std::tm fields{};
  GP_CHECK(ASN1_TIME_to_tm(time, &fields) == 1);
  return WallTime(std::chrono::seconds(timegm(&fields)));
}

std::string StringOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<size_t>(ASN1_STRING_length(text))};
}

std::string AddressText(const ASN1_OCTET_STRING* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;
  const bool valid = family == AF_INET || ASN1_STRING_length(address) == 16;
  if (!valid) return "";
  inet_ntop(family, ASN1_STRING_get0_data(address), text.data(), text.size());
  return text.data();
}

// The names of one kind: GEN_DNS, GEN_IPADD or GEN_URI.
std::vector<std::string> NamesOf(X509* certificate, int kind) {
  const NamesPointer names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> found;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != kind) continue;
    found.push_back(kind == GEN_IPADD ? AddressText(name->d.iPAddress) : StringOf(name->d.ia5));
  }
  return found;
}

bool AtEndOfPem() {
  const unsigned long code = ERR_peek_last_error();
  return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}

}  // namespace

StatusOr<std::vector<Certificate>> Certificate::ChainFromPem(std::string_view pem) {
  const BioPointer bio = ReadingBio(pem);
  std::vector<Certificate> chain;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    chain.emplace_back(CertificatePointer(next));
    if (chain.size() > kChainMax) return InvalidArgument("more than {} certificates", kChainMax);
  }
  const bool whole = AtEndOfPem();
  const std::string reason = TakeOpensslError();
  if (whole && !chain.empty()) return chain;
  return InvalidArgument("not a certificate in PEM: {}", reason);
}

StatusOr<Certificate> Certificate::FromPem(std::string_view pem) {
  ASSIGN_OR_RETURN(const auto chain, ChainFromPem(pem));
  return chain.front();
}

std::string Certificate::Pem() const {
  const BioPointer bio = WritingBio();
  GP_CHECK(PEM_write_bio_X509(bio.get(), certificate_.get()) == 1);
  return TextOf(bio.get());
}

std::string Certificate::Digest() const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  GP_CHECK(X509_digest(certificate_.get(), EVP_sha256(), digest.data(), &size) == 1);
  return HexOf({reinterpret_cast<const char*>(digest.data()), size});
}

std::string Certificate::Serial() const {
  const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate_.get());
  return HexOf(StringOf(serial));
}

Lifetime Certificate::lifetime() const {
  return {ToWallTime(X509_get0_notBefore(certificate_.get())),
          ToWallTime(X509_get0_notAfter(certificate_.get()))};
}

bool Certificate::IsAuthority() const { return X509_check_ca(certificate_.get()) == 1; }

std::vector<std::string> Certificate::DnsNames() const {
  return NamesOf(certificate_.get(), GEN_DNS);
}
std::vector<std::string> Certificate::IpAddresses() const {
  return NamesOf(certificate_.get(), GEN_IPADD);
}
std::vector<std::string> Certificate::Uris() const { return NamesOf(certificate_.get(), GEN_URI); }

Status Certificate::CheckLifetime(WallTime now) const {
  const Lifetime life = lifetime();
  if (now < life.begin) {
    return FailedPrecondition("the certificate is not valid before {}; the time is now {}",
                              TimeText(life.begin), TimeText(now));
  }
  if (now <= life.end) return OkStatus();
  return FailedPrecondition("the certificate expired at {}; the time is now {}", TimeText(life.end),
                            TimeText(now));
}

Status Certificate::CheckKey(const PrivateKey& key) const {
  const bool matches = X509_check_private_key(certificate_.get(), key.get()) == 1;
  (void)TakeOpensslError();
  if (matches) return OkStatus();
  return FailedPrecondition("the key does not belong to the certificate");
}

bool Certificate::IsSignedBy(const Certificate& authority) const {
  EVP_PKEY* key = X509_get0_pubkey(authority.get());
  const bool is = key != nullptr && X509_verify(certificate_.get(), key) == 1;
  (void)TakeOpensslError();
  return is;
}

std::string TimeText(WallTime time) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  std::tm fields{};
  gmtime_r(&seconds, &fields);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &fields);
  return text.data();
}

}  // namespace gp::security
