// OpenSSL's objects as owned pointers, and its errors as text. Functions may
// be called from any thread.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::security {

template <auto Free>
struct OpensslFree {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

using BioPointer = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using KeyPointer = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using CertificatePointer = std::unique_ptr<X509, OpensslFree<X509_free>>;
using RequestPointer = std::unique_ptr<X509_REQ, OpensslFree<X509_REQ_free>>;

// The reason of OpenSSL's last error on this thread; clears all of them. "unknown reason" if there
// is none.
std::string TakeOpensslError();

// Makes OpenSSL register its exit handler now, so that it runs after the handlers that are
// registered later: exit handlers run in reverse order.
void RegisterOpensslExit();

// Reads `text`, which must outlive it.
BioPointer ReadingBio(std::string_view text);
BioPointer WritingBio();
// The text written so far.
std::string TextOf(BIO* bio);

// Lower-case hexadecimal digits.
std::string HexOf(std::string_view bytes);
std::string Sha256Hex(std::string_view bytes);

}  // namespace gp::security
