#include "security/fetched_chain.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <thread>

#include "base/file.h"
#include "security/authority.h"

namespace gp::security {
namespace {

constexpr std::chrono::seconds kPlenty{60};

// A socket bound to a free port, which stays reserved as long as the object exists. It does not
// listen.
class Port {
 public:
  Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    place_ = {"127.0.0.1", ntohs(address.sin_port)};
  }

  int socket() const { return socket_.get(); }
  const ServerEndpoint& place() const { return place_; }

 private:
  FileDescriptor socket_;
  ServerEndpoint place_;
};

// Accepts one connection on a free port and passes it to `serve`.
class Door {
 public:
  explicit Door(std::function<void(int)> serve) {
    signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(listen(port_.socket(), 1), 0);
    thread_ = std::jthread([this, serve = std::move(serve)] {
      const FileDescriptor client(accept(port_.socket(), nullptr, nullptr));
      if (client.valid()) serve(client.get());
    });
  }
  ~Door() { shutdown(port_.socket(), SHUT_RDWR); }

  const ServerEndpoint& place() const { return port_.place(); }

 private:
  const Port port_;
  std::jthread thread_;
};

// A TLS server with a certificate of `authority`; it sends the authority's certificate in its
// chain.
std::function<void(int)> TlsServer(const Authority& authority, int version_max) {
  const WallTime now = SystemClock().WallNow();
  const PrivateKey key = PrivateKey::Generate();
  const Certificate leaf = *authority.IssueServer(key, {"elsewhere"}, now, std::chrono::hours(1));
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_max_proto_version(context, version_max);
  SSL_CTX_use_certificate(context, leaf.get());
  SSL_CTX_use_PrivateKey(context, key.get());
  SSL_CTX_add1_chain_cert(context, authority.certificate().get());
  return [context](int client) {
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, client);
    (void)SSL_accept(ssl);
    char byte = 0;
    (void)SSL_read(ssl, &byte, 1);  // until the client leaves
    SSL_free(ssl);
    SSL_CTX_free(context);
  };
}

TEST(FetchedChain, FindsTheAuthorityByItsDigest) {
  const Authority authority = Authority::Create(SystemClock().WallNow());
  const Door door(TlsServer(authority, TLS1_3_VERSION));
  std::string digest = authority.certificate().Digest();
  std::transform(digest.begin(), digest.end(), digest.begin(), ::toupper);
  const auto fetched = FetchAuthority(door.place(), digest, kPlenty);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ(fetched->Pem(), authority.certificate().Pem());
}

TEST(FetchedChain, AnotherAuthorityIsRefused) {
  const Authority authority = Authority::Create(SystemClock().WallNow());
  const Door door(TlsServer(authority, TLS1_3_VERSION));
  const auto fetched = FetchAuthority(
      door.place(), Authority::Create(SystemClock().WallNow()).certificate().Digest(), kPlenty);
  EXPECT_EQ(fetched.status().code(), StatusCode::kPermissionDenied) << fetched.status();
}

TEST(FetchedChain, AnOlderTlsIsRefused) {
  const Door door(TlsServer(Authority::Create(SystemClock().WallNow()), TLS1_2_VERSION));
  const auto fetched = FetchChain(door.place(), kPlenty);
  EXPECT_EQ(fetched.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(Message(fetched.status()).find("does not speak TLS 1.3"), std::string::npos)
      << fetched.status();
}

TEST(FetchedChain, AServerThatSaysSomethingElseIsRefused) {
  const Door door([](int client) { (void)WriteAll(client, "HTTP/1.0 200 OK\r\n\r\n", "client"); });
  EXPECT_EQ(FetchChain(door.place(), kPlenty).status().code(), StatusCode::kUnavailable);
}

TEST(FetchedChain, ASilentServerIsLeftAfterTheTimeout) {
  const Door door([](int client) {
    char byte = 0;
    while (read(client, &byte, 1) > 0) {
    }
  });
  const auto fetched = FetchChain(door.place(), std::chrono::milliseconds(100));
  EXPECT_EQ(fetched.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(Message(fetched.status()).find("no answer"), std::string::npos) << fetched.status();
}

TEST(FetchedChain, APortThatIsClosedIsNamed) {
  const Port port;
  const auto fetched = FetchChain(port.place(), kPlenty);
  EXPECT_EQ(fetched.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(Message(fetched.status()).find(std::to_string(port.place().port)), std::string::npos);
}

}  // namespace
}  // namespace gp::security
