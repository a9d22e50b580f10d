#include "rpc/tls.h"

#include <arpa/inet.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <csignal>
#include <thread>

#include "gp/v1/run_service.grpc.pb.h"
#include "lib/base/eventually.h"
#include "lib/rpc/connected_channel.h"
#include "lib/rpc/test_certificates.h"
#include "rpc/listen_address.h"
#include "rpc/server.h"
#include "rpc/status.h"
#include "security/fetched_chain.h"

namespace gp::rpc {
namespace {

// Returns the node name in the caller's certificate as its version, and streams until the caller
// cancels.
class PeerTeller final : public v1::RunService::Service {
  grpc::Status Version(grpc::ServerContext* context, const v1::VersionRequest*,
                       v1::VersionResponse* response) override {
    for (const auto& pem : context->auth_context()->FindPropertyValues("x509_pem_cert")) {
      const auto certificate = security::Certificate::FromPem({pem.data(), pem.size()});
      if (certificate.ok()) response->set_version(security::NodeOf(*certificate));
    }
    return grpc::Status::OK;
  }
  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest*,
                     grpc::ServerWriter<v1::WatchResponse>* writer) override {
    while (!context->IsCancelled() && writer->Write({})) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return grpc::Status::OK;
  }
};

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    signal(SIGPIPE, SIG_IGN);
    auto server = RpcServer::Start(
        {.endpoints = {{.address = "127.0.0.1:0", .tls = certificates_.Server()}}}, {&service_});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  std::string At(const std::string& host) const {
    return host + ":" + std::to_string(ParseListenAddress(server_->address())->port);
  }

  // The version that the server returns, with a single attempt.
  static StatusOr<std::string> Ask(const std::string& address,
                                   const std::optional<ChannelTls>& tls) {
    const auto stub = v1::RunService::NewStub(ConnectedChannel(address, {.tls = tls}));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::VersionResponse response;
    RETURN_IF_ERROR(FromGrpc(stub->Version(&context, {}, &response)));
    return response.version();
  }

  static unsigned GiveSharedKey(SSL*, const char*, char* identity, unsigned, unsigned char* key,
                                unsigned) {
    identity[0] = '\0';
    key[0] = 1;
    return 1;
  }

  // A TCP connection to `server`.
  static FileDescriptor ConnectTo(const RpcServer& server) {
    FileDescriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(ParseListenAddress(server.address())->port));
    EXPECT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return client;
  }

  // The TLS version negotiated with an OpenSSL client that allows at most `version_max`, or
  // "refused".
  std::string Negotiate(int version_max) const {
    const FileDescriptor client = ConnectTo(*server_);
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, version_max);
    // Offers every cipher suite of OpenSSL, including those without authentication and with
    // pre-shared keys.
    SSL_CTX_set_security_level(context, 0);
    EXPECT_EQ(SSL_CTX_set_cipher_list(context, "ALL:COMPLEMENTOFALL"), 1);
    if (version_max < TLS1_3_VERSION) SSL_CTX_set_psk_client_callback(context, GiveSharedKey);
    static constexpr unsigned char kProtocols[] = {2, 'h', '2'};
    SSL_CTX_set_alpn_protos(context, kProtocols, sizeof kProtocols);
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, client.get());
    const bool agreed = SSL_connect(ssl) == 1;
    const std::string result = agreed ? SSL_get_version(ssl) : "refused";
    (void)security::TakeOpensslError();
    SSL_free(ssl);
    SSL_CTX_free(context);
    return result;
  }

  std::string ServedSerial() const {
    const auto chain = security::FetchChain(
        {"127.0.0.1", ParseListenAddress(server_->address())->port}, std::chrono::seconds(20));
    EXPECT_TRUE(chain.ok()) << chain.status();
    return chain.ok() ? chain->front().Serial() : "";
  }

  TestCertificates certificates_;
  PeerTeller service_;
  std::unique_ptr<RpcServer> server_;
};

TEST_F(TlsTest, AClientMayComeWithoutACertificate) {
  const auto version = Ask(At("127.0.0.1"), certificates_.Anonymous());
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(*version, "");
}

TEST_F(TlsTest, TheServerSeesTheClientsCertificate) {
  const auto version = Ask(At("localhost"), certificates_.Client());
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(*version, "node1");
}

TEST_F(TlsTest, APlainClientIsRefused) {
  EXPECT_EQ(Ask(At("127.0.0.1"), std::nullopt).status().code(), StatusCode::kUnavailable);
}

TEST_F(TlsTest, AServerOfAnotherAuthorityIsRefused) {
  const TestCertificates others;
  EXPECT_EQ(Ask(At("127.0.0.1"), others.Anonymous()).status().code(), StatusCode::kUnavailable);
}

TEST_F(TlsTest, AClientOfAnotherAuthorityIsRefused) {
  const TestCertificates others;
  ChannelTls mixed = others.Client();
  mixed.ca = certificates_.Path("ca.crt");
  EXPECT_EQ(Ask(At("127.0.0.1"), mixed).status().code(), StatusCode::kUnavailable);
}

TEST_F(TlsTest, AServerUnderANameThatItDoesNotHaveIsRefused) {
  EXPECT_EQ(Ask(At("127.0.0.2"), certificates_.Anonymous()).status().code(),
            StatusCode::kUnavailable);
}

// A node's certificate is for serving the node's metrics; clients must not accept it for a
// coordinator.
TEST_F(TlsTest, ANodesCertificateDoesNotMakeACoordinator) {
  ServerTls swapped = certificates_.Server();
  swapped.certificate = swapped.key = certificates_.Path("client.pem");
  const auto server =
      RpcServer::Start({.endpoints = {{.address = "127.0.0.1:0", .tls = swapped}}}, {&service_});
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string port = std::to_string(ParseListenAddress((*server)->address())->port);
  for (const std::string host : {"127.0.0.1:", "localhost:"}) {
    EXPECT_EQ(Ask(host + port, certificates_.Anonymous()).status().code(),
              StatusCode::kUnavailable);
  }
}

// Otherwise such connections could use up all file descriptors of the server.
TEST_F(TlsTest, AConnectionThatNeverShakesHandsIsClosed) {
  const auto server =
      RpcServer::Start({.endpoints = {{.address = "127.0.0.1:0", .tls = certificates_.Server()}},
                        .handshake_timeout = std::chrono::milliseconds(100)},
                       {&service_});
  ASSERT_TRUE(server.ok()) << server.status();
  const FileDescriptor silent = ConnectTo(**server);
  const timeval patience{.tv_sec = 60, .tv_usec = 0};
  ASSERT_EQ(setsockopt(silent.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
  char byte = 0;
  const ssize_t received = recv(silent.get(), &byte, 1, 0);
  EXPECT_TRUE(received == 0 || (received < 0 && errno == ECONNRESET)) << "errno " << errno;
}

TEST_F(TlsTest, OnlyTls13IsSpoken) {
  EXPECT_EQ(Negotiate(TLS1_3_VERSION), "TLSv1.3");
  for (const int version : {TLS1_2_VERSION, TLS1_1_VERSION, TLS1_VERSION}) {
    EXPECT_EQ(Negotiate(version), "refused") << version;
  }
}

TEST_F(TlsTest, ANewServerCertificateIsServedWhileAStreamGoesOn) {
  const auto stub = v1::RunService::NewStub(
      ConnectedChannel(At("127.0.0.1"), {.tls = certificates_.Anonymous()}));
  grpc::ClientContext context;
  const auto stream = stub->Watch(&context, {});
  v1::WatchResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_EQ(ServedSerial(), certificates_.server_serial());
  certificates_.RenewServer({"127.0.0.1"});
  EXPECT_TRUE(Eventually(
      [&] { return stream->Read(&response) && ServedSerial() == certificates_.server_serial(); }));
  EXPECT_TRUE(stream->Read(&response));
  context.TryCancel();
  stream->Finish();
}

TEST_F(TlsTest, OneServerServesASocketAndTcp) {
  PeerTeller service;
  const std::string socket = "unix:" + certificates_.Path("gp.sock");
  const auto server =
      RpcServer::Start({.endpoints = {{.address = socket},
                                      {.address = "127.0.0.1:0", .tls = certificates_.Server()}}},
                       {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_EQ((*server)->addresses().size(), 2u);
  EXPECT_EQ((*server)->address(), socket);
  EXPECT_TRUE(Ask(socket, std::nullopt).ok());
  EXPECT_TRUE(Ask((*server)->addresses()[1], certificates_.Anonymous()).ok());
  EXPECT_FALSE(Ask((*server)->addresses()[1], std::nullopt).ok());
}

TEST_F(TlsTest, FilesThatCannotBeUsedAreNamedAtTheStart) {
  PeerTeller service;
  const TestCertificates others;
  const auto start = [&](const ServerTls& tls) {
    return RpcServer::Start({.endpoints = {{.address = "127.0.0.1:0", .tls = tls}}}, {&service})
        .status();
  };
  ServerTls swapped = certificates_.Server();
  swapped.key = others.Path("client.pem");
  EXPECT_EQ(start(swapped).code(), StatusCode::kFailedPrecondition);
  ServerTls missing = certificates_.Server();
  missing.certificate = certificates_.Path("none.pem");
  const Status refused = start(missing);
  EXPECT_EQ(refused.code(), StatusCode::kNotFound);
  EXPECT_NE(Message(refused).find("none.pem"), std::string::npos) << refused;
  ServerTls garbage = certificates_.Server();
  garbage.client_ca = certificates_.Path("garbage");
  ASSERT_TRUE(WriteFileAtomically(garbage.client_ca, "-----BEGIN CERTIFICATE-----\nAAAA").ok());
  EXPECT_EQ(start(garbage).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gp::rpc
