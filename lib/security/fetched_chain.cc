#include "security/fetched_chain.h"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/file.h"

namespace gp::security {
namespace {

using std::chrono::steady_clock;
using SslContextPointer = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;
using SslPointer = std::unique_ptr<SSL, OpensslFree<SSL_free>>;

std::string PlaceText(const ServerEndpoint& place) {
  const bool bare_v6 = place.host.find(':') != std::string::npos;
  return fmt::format("{}:{}", bare_v6 ? "[" + place.host + "]" : place.host, place.port);
}

Status Unreachable(const ServerEndpoint& place, const std::string& reason) {
  return Unavailable("{} cannot be reached: {}", PlaceText(place), reason);
}

// Waits for the socket; false when the deadline passes first.
bool AwaitSocket(int fd, short events, steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
  pollfd entry{fd, events, 0};
  return left > 0 && poll(&entry, 1, static_cast<int>(left)) > 0;
}

Status ConnectTo(const addrinfo& target, const FileDescriptor& socket,
                 steady_clock::time_point deadline, const ServerEndpoint& place) {
  if (connect(socket.get(), target.ai_addr, target.ai_addrlen) == 0) return OkStatus();
  if (errno != EINPROGRESS) return Unreachable(place, strerror(errno));
  if (!AwaitSocket(socket.get(), POLLOUT, deadline)) return Unreachable(place, "no answer");
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? OkStatus() : Unreachable(place, strerror(error));
}

StatusOr<FileDescriptor> Connect(const ServerEndpoint& place, steady_clock::time_point deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &hints, &found);
  if (error != 0) return Unreachable(place, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  Status last = Unreachable(place, "the host has no address");
  for (const addrinfo* target = found; target != nullptr; target = target->ai_next) {
    FileDescriptor socket(
        ::socket(target->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    last = socket.valid() ? ConnectTo(*target, socket, deadline, place)
                          : ErrnoStatus(errno, "open a socket for", PlaceText(place));
    if (last.ok()) return socket;
  }
  return last;
}

Status Handshake(SSL* ssl, int fd, steady_clock::time_point deadline, const ServerEndpoint& place) {
  while (true) {
    const int done = SSL_connect(ssl);
    if (done == 1) return OkStatus();
    const int wanted = SSL_get_error(ssl, done);
    if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE) {
      return Unavailable("{} does not speak TLS 1.3: {}", PlaceText(place), TakeOpensslError());
    }
    if (!AwaitSocket(fd, wanted == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline)) {
      return Unavailable("{} does not speak TLS 1.3: no answer to the handshake", PlaceText(place));
    }
  }
}

SslContextPointer MakeClientContext() {
  SslContextPointer context(SSL_CTX_new(TLS_client_method()));
  GP_CHECK(context != nullptr);
  GP_CHECK(SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) == 1);
  // Does not verify the certificate: the caller compares digests.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  static constexpr unsigned char kProtocols[] = {2, 'h', '2'};
  GP_CHECK(SSL_CTX_set_alpn_protos(context.get(), kProtocols, sizeof kProtocols) == 0);
  return context;
}

}  // namespace

StatusOr<std::vector<Certificate>> FetchChain(const ServerEndpoint& place,
                                              std::chrono::nanoseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  ASSIGN_OR_RETURN(const FileDescriptor socket, Connect(place, deadline));
  const SslContextPointer context = MakeClientContext();
  const SslPointer ssl(SSL_new(context.get()));
  GP_CHECK(ssl != nullptr && SSL_set_fd(ssl.get(), socket.get()) == 1);
  RETURN_IF_ERROR(Handshake(ssl.get(), socket.get(), deadline, place));
  std::vector<Certificate> chain;
  const STACK_OF(X509)* presented = SSL_get_peer_cert_chain(ssl.get());
  for (int i = 0; presented != nullptr && i < sk_X509_num(presented); ++i) {
    X509* one = sk_X509_value(presented, i);
    X509_up_ref(one);
    chain.emplace_back(CertificatePointer(one));
  }
  return chain;
}

StatusOr<Certificate> FetchAuthority(const ServerEndpoint& place, const std::string& digest,
                                     std::chrono::nanoseconds timeout) {
  std::string wanted = digest;
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  ASSIGN_OR_RETURN(const auto chain, FetchChain(place, timeout));
  for (const Certificate& certificate : chain) {
    if (certificate.Digest() == wanted) return certificate;
  }
  return PermissionDenied(
      "{} presents no certificate with the digest {}: it is not the server that the digest came "
      "from, or its authority was replaced",
      PlaceText(place), wanted);
}

}  // namespace gp::security
