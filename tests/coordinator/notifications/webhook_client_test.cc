#include "coordinator/notifications/webhook_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "coordinator/notifications/receiver.h"
#include "lib/base/temporary_directory.h"
#include "security/authority.h"

namespace gp::coordinator {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WebhookLimits kShort{.connect = milliseconds(300), .total = milliseconds(500)};

StatusOr<WebhookReply> Post(const std::string& url, bool allow_private = true,
                            const WebhookLimits& limits = {}) {
  return PostWebhook(
      {.url = url,
       .headers = {"Idempotency-Key: k1"},
       .body = R"({"a":1})",
       .allow_private_addresses = allow_private},
      [] { return false; }, limits);
}

TEST(WebhookClient, SendsTheBodyWithItsHeaders) {
  const Receiver receiver(Receiver::Always("200 OK", "thanks"));
  const WebhookReply reply = Post(receiver.url()).value();
  EXPECT_TRUE(reply.accepted());
  EXPECT_EQ(reply.excerpt, "thanks");
  const std::string request = receiver.requests().at(0);
  EXPECT_THAT(request, HasSubstr("POST /hook/s3cret-path HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(request, HasSubstr("Idempotency-Key: k1\r\n"));
  EXPECT_TRUE(request.ends_with("\r\n\r\n{\"a\":1}"));
}

TEST(WebhookClient, AnErrorOfTheReceiverIsAReply) {
  const Receiver receiver(Receiver::Always("500 Oops", "no\nspace\x1b[31m"));
  const WebhookReply reply = Post(receiver.url()).value();
  EXPECT_FALSE(reply.accepted());
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.excerpt, "no?space?[31m");
}

TEST(WebhookClient, DoesNotConnectToPrivateAddresses) {
  const Receiver receiver(Receiver::Always("200 OK"));
  for (const char* host : {"127.0.0.1", "localhost", "127.1", "0x7f000001"}) {
    const Status refused = Post(receiver.url(host), false).status();
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(gp::Message(refused), HasSubstr("is a loopback address"));
    EXPECT_THAT(gp::Message(refused), Not(HasSubstr("s3cret")));
  }
  EXPECT_THAT(receiver.requests(), ::testing::IsEmpty());
}

TEST(WebhookClient, NeverConnectsToMetadataServices) {
  for (const char* url : {"http://169.254.169.254/latest/meta-data/", "http://[fe80::1]/",
                          "http://[::ffff:169.254.169.254]/", "http://0.0.0.0/"}) {
    EXPECT_THAT(gp::Message(Post(url, true, kShort).status()),
                HasSubstr("notifications are never sent there"))
        << url;
  }
}

TEST(WebhookClient, FollowsNoRedirect) {
  const Receiver inner(Receiver::Always("200 OK"));
  const Receiver receiver(Receiver::Always("302 Found", "", "Location: " + inner.url() + "\r\n"));
  const WebhookReply reply = Post(receiver.url()).value();
  EXPECT_EQ(reply.status, 302);
  EXPECT_FALSE(reply.accepted());
  EXPECT_THAT(inner.requests(), ::testing::IsEmpty());
}

TEST(WebhookClient, UsesNoProxyOfTheEnvironment) {
  const Receiver proxy(Receiver::Always("200 OK", "from the proxy"));
  const Receiver receiver(Receiver::Always("200 OK", "from the receiver"));
  setenv("http_proxy", proxy.url().c_str(), 1);
  EXPECT_EQ(Post(receiver.url())->excerpt, "from the receiver");
  unsetenv("http_proxy");
}

TEST(WebhookClient, ReadsOnlyTheBeginningOfAnEndlessAnswer) {
  const Receiver receiver([](int connection, const std::string&) {
    Receiver::Send(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    while (Receiver::Send(connection, std::string(65536, 'x'))) continue;
  });
  const WebhookReply reply = Post(receiver.url()).value();
  EXPECT_TRUE(reply.accepted());
  EXPECT_THAT(reply.excerpt, HasSubstr("xxx"));
}

TEST(WebhookClient, GivesUpOnEndlessHeaders) {
  const Receiver receiver([](int connection, const std::string&) {
    Receiver::Send(connection, "HTTP/1.1 200 OK\r\n");
    while (Receiver::Send(connection, "X-More: " + std::string(1000, 'x') + "\r\n")) continue;
  });
  EXPECT_FALSE(Post(receiver.url()).ok());
}

TEST(WebhookClient, GivesUpOnAReceiverThatHangs) {
  const Receiver receiver(
      [](int connection, const std::string&) { Receiver::AwaitClose(connection); });
  const Status late = Post(receiver.url(), true, kShort).status();
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(gp::Message(late), HasSubstr("127.0.0.1: no answer within 0.5 s"));
}

TEST(WebhookClient, GivesUpOnAnAnswerThatDrips) {
  const Receiver receiver([](int connection, const std::string&) {
    Receiver::Send(connection, "HTTP/1.1 200 OK\r\n");
    while (Receiver::Send(connection, "X: y\r\n")) {
      std::this_thread::sleep_for(milliseconds(50));
    }
  });
  EXPECT_EQ(Post(receiver.url(), true, kShort).status().code(), StatusCode::kDeadlineExceeded);
}

TEST(WebhookClient, ReportsAConnectionThatIsClosed) {
  const Receiver receiver([](int, const std::string&) {});
  const Status closed = Post(receiver.url()).status();
  EXPECT_EQ(closed.code(), StatusCode::kUnavailable);
  EXPECT_THAT(gp::Message(closed), HasSubstr("127.0.0.1: "));
}

TEST(WebhookClient, ReportsAPortThatNobodyListensOn) {
  std::string url;
  { url = Receiver(Receiver::Always("200 OK")).url(); }
  EXPECT_EQ(Post(url).status().code(), StatusCode::kUnavailable);
}

TEST(WebhookClient, ReportsAnAnswerThatIsNotHttp) {
  const Receiver receiver(
      [](int connection, const std::string&) { Receiver::Send(connection, "220 smtp ready\r\n"); });
  EXPECT_FALSE(Post(receiver.url()).ok());
}

// A server for 127.0.0.1 whose certificate comes from an authority that nobody trusts. Returns what
// it could read of a request.
class UntrustedServer {
 public:
  UntrustedServer() : context_(SSL_CTX_new(TLS_server_method())) {
    const auto authority = security::Authority::Create(SystemClock().WallNow());
    const auto key = security::PrivateKey::Generate();
    const auto certificate =
        authority.IssueServer(key, {"127.0.0.1"}, SystemClock().WallNow(), std::chrono::hours(1));
    directory_.Write("cert", certificate->Pem());
    directory_.Write("key", key.Pem());
    EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context_, directory_.File("cert").c_str()), 1);
    EXPECT_EQ(
        SSL_CTX_use_PrivateKey_file(context_, directory_.File("key").c_str(), SSL_FILETYPE_PEM), 1);
  }
  ~UntrustedServer() { SSL_CTX_free(context_); }

  std::string Serve(int connection) {
    SSL* tls = SSL_new(context_);
    SSL_set_fd(tls, connection);
    std::string request(4096, '\0');
    const int got = SSL_accept(tls) == 1 ? SSL_read(tls, request.data(), 4096) : 0;
    SSL_free(tls);
    return request.substr(0, static_cast<size_t>(std::max(got, 0)));
  }

 private:
  const TemporaryDirectory directory_;
  SSL_CTX* context_;
};

TEST(WebhookClient, SendsNothingToAReceiverWithACertificateOfAnUnknownAuthority) {
  UntrustedServer server;
  std::string request = "none came";
  Status refused;
  {
    const Receiver receiver(
        [&](int connection, const std::string&) { request = server.Serve(connection); },
        Receiver::Reads::kNothing);
    refused = Post("https" + receiver.url().substr(4)).status();
  }
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(gp::Message(refused), HasSubstr("certificate"));
  EXPECT_EQ(request, "");
}

TEST(WebhookClient, UsesNoOtherProtocol) {
  for (const char* url : {"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/"}) {
    EXPECT_EQ(Post(url).status().code(), StatusCode::kUnavailable) << url;
  }
}

TEST(WebhookClient, EndsSoonAfterAStop) {
  const Receiver receiver(
      [](int connection, const std::string&) { Receiver::AwaitClose(connection); });
  const auto begin = std::chrono::steady_clock::now();
  const auto stopped = [&] { return std::chrono::steady_clock::now() - begin > milliseconds(100); };
  const Status ended =
      PostWebhook({.url = receiver.url(), .body = "{}", .allow_private_addresses = true}, stopped)
          .status();
  EXPECT_EQ(ended.code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace gp::coordinator
