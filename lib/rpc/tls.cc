#include "rpc/tls.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <cstdlib>

#include "base/file.h"
#include "security/certificate.h"

namespace gp::rpc {
namespace {

using grpc::experimental::FileWatcherCertificateProvider;

constexpr unsigned kRefreshSeconds = 1;
constexpr size_t kPemBytesMax = 1 << 20;

// gRPC 1.51 has no option for the minimum TLS version. This variable sets the cipher suites of TLS
// 1.2 and older; it does not affect TLS 1.3. Its only suite needs a key that both sides share,
// which does not exist here, so only TLS 1.3 remains. gRPC reads the variable at its first use of
// TLS. It is set before main, because then no other thread reads the environment.
const int kTls13Only = setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES256-GCM-SHA384", 1);

StatusOr<security::Certificate> ReadCertificate(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string pem, ReadFile(path, kPemBytesMax));
  auto certificate = security::Certificate::FromPem(pem);
  return certificate.ok() ? certificate : WithContext(certificate.status(), path);
}

Status CheckPair(const std::string& certificate_path, const std::string& key_path) {
  ASSIGN_OR_RETURN(const auto certificate, ReadCertificate(certificate_path));
  ASSIGN_OR_RETURN(const std::string pem, ReadFile(key_path, kPemBytesMax));
  const auto key = security::PrivateKey::FromPem(pem);
  RETURN_IF_ERROR(WithContext(key.status(), key_path));
  return WithContext(certificate.CheckKey(*key), certificate_path + " and " + key_path);
}

}  // namespace

Status CheckTls(const ServerTls& tls) {
  RETURN_IF_ERROR(CheckPair(tls.certificate, tls.key));
  return tls.client_ca.empty() ? OkStatus() : ReadCertificate(tls.client_ca).status();
}

Status CheckTls(const ChannelTls& tls) {
  RETURN_IF_ERROR(ReadCertificate(tls.ca).status());
  return tls.certificate.empty() ? OkStatus() : CheckPair(tls.certificate, tls.key);
}

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const ServerTls& tls) {
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<FileWatcherCertificateProvider>(tls.key, tls.certificate, tls.client_ca,
                                                       kRefreshSeconds));
  options.watch_identity_key_cert_pairs();
  if (!tls.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const ChannelTls& tls) {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<FileWatcherCertificateProvider>(
      tls.key, tls.certificate, tls.ca, kRefreshSeconds));
  options.watch_root_certs();
  if (!tls.certificate.empty()) options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(
      std::make_shared<grpc::experimental::HostNameCertificateVerifier>());
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace gp::rpc
