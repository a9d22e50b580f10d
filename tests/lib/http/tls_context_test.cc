#include "http/tls_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "lib/base/temporary_directory.h"
#include "lib/http/http_client.h"
#include "lib/http/running_server.h"

namespace gp::http {
namespace {

using ::testing::HasSubstr;

// A key with its self-signed certificate.
class Certificate {
 public:
  explicit Certificate(const std::string& directory)
      : certificate_(JoinPath(directory, "cert.pem")), key_(JoinPath(directory, "key.pem")) {
    EVP_PKEY* key = EVP_RSA_gen(2048);
    X509* certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    X509_sign(certificate, key, EVP_sha256());
    FILE* out = fopen(certificate_.c_str(), "w");
    PEM_write_X509(out, certificate);
    fclose(out);
    out = fopen(key_.c_str(), "w");
    PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    fclose(out);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }

  const std::string& certificate() const { return certificate_; }
  const std::string& key() const { return key_; }

 private:
  const std::string certificate_;
  const std::string key_;
};

TEST(Tls, ServesOverAnEncryptedConnection) {
  TemporaryDirectory files;
  const Certificate pem(files.path());
  auto tls = TlsContext::Read({pem.certificate(), pem.key()});
  ASSERT_TRUE(tls.ok()) << tls.status();
  Router router;
  constexpr size_t kLongBytes = 5 << 20;
  router.Add({"GET", "/long", [](const auto& exchange) {
                exchange->Respond({.body = std::string(kLongBytes, 'x')});
              }});
  RunningServer server({.router = router}, tls->get());

  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  BIO* bio = BIO_new_ssl_connect(context);
  BIO_set_conn_hostname(bio, fmt::format("127.0.0.1:{}", server.port()).c_str());
  const std::string request = "GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  ASSERT_GT(BIO_write(bio, request.data(), static_cast<int>(request.size())), 0);
  std::string answer;
  char buffer[1000];
  for (int got = 0; (got = BIO_read(bio, buffer, sizeof buffer)) > 0;) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  EXPECT_TRUE(answer.ends_with("\r\n\r\n" + std::string(kLongBytes, 'x'))) << answer.size();
  BIO_free_all(bio);
  SSL_CTX_free(context);
  // A client without TLS is disconnected; other clients are unaffected.
  HttpClient plain(server.port());
  plain.Request("GET", "/long");
  EXPECT_EQ(plain.Receive().status, 0);
}

TEST(Tls, TakesWhatTheFilesHoldNowAndKeepsTheOldCertificateWhenTheyAreBroken) {
  TemporaryDirectory files;
  const Certificate first(files.path());
  const auto tls = TlsContext::Read({first.certificate(), first.key()});
  ASSERT_TRUE(tls.ok()) << tls.status();
  const auto before = (*tls)->current();
  EXPECT_TRUE((*tls)->Reread().ok());
  EXPECT_EQ((*tls)->current(), before) << "nothing changed";
  ASSERT_TRUE(WriteFileAtomically(first.key(), "broken").ok());
  EXPECT_THAT(Message((*tls)->Reread()), HasSubstr("tls.key"));
  EXPECT_EQ((*tls)->current(), before);
  const Certificate second(files.path());
  EXPECT_TRUE((*tls)->Reread().ok());
  EXPECT_NE((*tls)->current(), before);
}

TEST(CertificateWatch, ServesANewCertificateToWhoeverComesNext) {
  TemporaryDirectory files;
  const Certificate first(files.path());
  const auto tls = TlsContext::Read({first.certificate(), first.key()});
  ASSERT_TRUE(tls.ok()) << tls.status();
  const auto before = (*tls)->current();
  EventLoop loop;
  OffloadPool pool(loop, {});
  const CertificateWatch watch(*tls, loop, pool, std::chrono::milliseconds(5));
  const Certificate second(files.path());
  const auto asks = loop.Every(std::chrono::milliseconds(5), [&] {
    if ((*tls)->current() != before) loop.Stop();
  });
  loop.Run();
  EXPECT_NE((*tls)->current(), before);
}

TEST(Tls, TellsWhatIsWrongWithTheFiles) {
  TemporaryDirectory files;
  TemporaryDirectory others;
  const Certificate pem(files.path());
  const Certificate other(others.path());
  EXPECT_THAT(Message(TlsContext::Read({files.File("none"), pem.key()}).status()),
              HasSubstr("tls.certificate"));
  EXPECT_THAT(Message(TlsContext::Read({pem.certificate(), files.File("none")}).status()),
              HasSubstr("tls.key"));
  EXPECT_FALSE(TlsContext::Read({pem.certificate(), other.key()}).ok());
}

}  // namespace
}  // namespace gp::http
