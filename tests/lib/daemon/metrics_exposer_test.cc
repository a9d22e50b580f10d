#include "daemon/metrics_exposer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <prometheus/counter.h>
#include <prometheus/registry.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "daemon/metrics_settings.h"
#include "formats/sha256.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"
#include "rpc/listen_address.h"
#include "security/authority.h"

namespace gp::daemon {
namespace {

constexpr const char* kRequest = "GET /metrics HTTP/1.0\r\n\r\n";

FileDescriptor Connect(const std::string& address_text) {
  const auto address = rpc::ParseListenAddress(address_text).value();
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_port = htons(static_cast<uint16_t>(address.port));
  inet_pton(AF_INET, address.host.c_str(), &target.sin_addr);
  FileDescriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(connection.get(), reinterpret_cast<sockaddr*>(&target), sizeof target), 0);
  return connection;
}

// The server's answer to `request`, read until it closes the connection.
std::string Answer(const std::string& address, const std::string& request) {
  const FileDescriptor connection = Connect(address);
  EXPECT_TRUE(WriteAll(connection.get(), request, "metrics").ok());
  std::string answer;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 1; got > 0;) {
    got = read(connection.get(), buffer.data(), buffer.size());
    if (got > 0) answer.append(buffer.data(), static_cast<size_t>(got));
  }
  return answer;
}

std::string Scrape(const std::string& address) { return Answer(address, kRequest); }

// Scrapes like Prometheus: trusts `ca` and expects a certificate for `host`. Empty if TLS fails.
std::string TlsScrape(const std::string& address, const std::string& ca, const std::string& host,
                      int version = TLS1_3_VERSION, const std::string& request = kRequest) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), version);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  EXPECT_EQ(SSL_CTX_load_verify_locations(context.get(), ca.c_str(), nullptr), 1);
  const FileDescriptor connection = Connect(address);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
  SSL_set_fd(ssl.get(), connection.get());
  SSL_set1_host(ssl.get(), host.c_str());
  std::string answer;
  if (SSL_connect(ssl.get()) != 1) return answer;
  EXPECT_GT(SSL_write(ssl.get(), request.data(), static_cast<int>(request.size())), 0);
  std::array<char, 4096> buffer{};
  for (int got = 1; got > 0;) {
    got = SSL_read(ssl.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (got > 0) answer.append(buffer.data(), static_cast<size_t>(got));
  }
  return answer;
}

std::shared_ptr<prometheus::Registry> OneCounter() {
  auto registry = std::make_shared<prometheus::Registry>();
  prometheus::BuildCounter().Name("gp_example_total").Register(*registry).Add({}).Increment(3);
  return registry;
}

TEST(MetricsExposer, ServesTheRegistryOnTheAddressThatItTells) {
  const auto exposer = MetricsExposer::Start({.listen = "127.0.0.1:0"}, OneCounter());
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  EXPECT_NE(Scrape((*exposer)->address()).find("gp_example_total 3"), std::string::npos);
}

TEST(MetricsExposer, TheAddressIsOneThatAClientCanUse) {
  const auto exposer = MetricsExposer::Start({.listen = "0.0.0.0:0"}, OneCounter());
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  EXPECT_TRUE((*exposer)->address().starts_with("127.0.0.1:")) << (*exposer)->address();
}

TEST(MetricsExposer, EndsAtOnce) {
  const auto registry = OneCounter();
  for (int i = 0; i < 200; ++i) {
    const auto exposer = MetricsExposer::Start({.listen = "127.0.0.1:0"}, registry);
    ASSERT_TRUE(exposer.ok()) << exposer.status();
  }
}

TEST(MetricsExposer, APortInUseIsNamed) {
  const auto first = MetricsExposer::Start({.listen = "127.0.0.1:0"}, OneCounter());
  ASSERT_TRUE(first.ok());
  const auto second = MetricsExposer::Start({.listen = (*first)->address()}, OneCounter());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(Message(second.status()).find((*first)->address()), std::string::npos);
  EXPECT_NE(Message(second.status()).find("metrics.listen"), std::string::npos);
}

TEST(MetricsExposer, AnswersTwoPathsAndSaysWhatElseThereIsNot) {
  const auto exposer = MetricsExposer::Start({.listen = "127.0.0.1:0"}, OneCounter());
  ASSERT_TRUE(exposer.ok());
  EXPECT_TRUE(Answer((*exposer)->address(), "GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404"));
  EXPECT_TRUE(
      Answer((*exposer)->address(), "POST /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 405"));
}

TEST(MetricsExposer, WhoSendsTooMuchOrTooSlowlyIsLetGoAndOthersAreServed) {
  const auto exposer = MetricsExposer::Start({.listen = "127.0.0.1:0"}, OneCounter());
  ASSERT_TRUE(exposer.ok());
  const std::string address = (*exposer)->address();
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(Connect(address));
  EXPECT_TRUE(Answer(address, "GET /metrics HTTP/1.1\r\nx: " + std::string(100'000, 'x'))
                  .starts_with("HTTP/1.1 431"));
  EXPECT_TRUE(Answer(address, "GET /metrics HTTP/1.1\r\nx: y").starts_with("HTTP/1.1 408"));
  EXPECT_NE(Scrape(address).find("gp_example_total 3"), std::string::npos);
}

// A daemon's TLS files: an authority and a certificate for "gp.example.org".
class TlsMetrics : public ::testing::Test {
 protected:
  TlsMetrics() {
    signal(SIGPIPE, SIG_IGN);
    Write("ca.crt", authority_.certificate().Pem());
    Renew("gp.example.org");
  }

  void Renew(const std::string& host) {
    const auto key = security::PrivateKey::Generate();
    const auto made =
        authority_.IssueServer(key, {host}, SystemClock().WallNow(), std::chrono::hours(1));
    ASSERT_TRUE(made.ok()) << made.status();
    Write("server.pem", key.Pem() + made->Pem());
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(files_.File(name), text, 0600).ok());
  }

  MetricsPlace Place() const {
    const std::string pem = files_.File("server.pem");
    return {.listen = "127.0.0.1:0",
            .tls = http::TlsFiles{.certificate = pem, .key = pem, .newest_only = true}};
  }

  TemporaryDirectory files_;
  const security::Authority authority_ = security::Authority::Create(SystemClock().WallNow());
  const std::string ca_ = files_.File("ca.crt");
};

TEST_F(TlsMetrics, AreServedOverTls13Alone) {
  const auto exposer = MetricsExposer::Start(Place(), OneCounter());
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  const std::string address = (*exposer)->address();
  EXPECT_NE(TlsScrape(address, ca_, "gp.example.org").find("gp_example_total 3"),
            std::string::npos);
  EXPECT_EQ(TlsScrape(address, ca_, "other.example.org"), "") << "another name";
  EXPECT_EQ(TlsScrape(address, ca_, "gp.example.org", TLS1_2_VERSION), "");
  EXPECT_EQ(Scrape(address).find("gp_example_total"), std::string::npos) << "without TLS";
}

TEST_F(TlsMetrics, ANewCertificateIsServedWithoutARestart) {
  const auto exposer = MetricsExposer::Start(Place(), OneCounter());
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  Renew("new.example.org");
  EXPECT_TRUE(Eventually(
      [&] { return !TlsScrape((*exposer)->address(), ca_, "new.example.org").empty(); }));
}

TEST_F(TlsMetrics, WithKeysNobodyElseReadsThem) {
  Write("keys", formats::Sha256Hex("the key of prometheus") + " prometheus\n");
  MetricsPlace place = Place();
  place.keys_file = files_.File("keys");
  const auto exposer = MetricsExposer::Start(place, OneCounter());
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  const auto ask = [&](const std::string& header) {
    return TlsScrape((*exposer)->address(), ca_, "gp.example.org", TLS1_3_VERSION,
                     "GET /metrics HTTP/1.0\r\n" + header + "\r\n");
  };
  EXPECT_TRUE(ask("").starts_with("HTTP/1.1 401"));
  EXPECT_TRUE(ask("Authorization: Bearer no\r\n").starts_with("HTTP/1.1 401"));
  EXPECT_NE(ask("Authorization: Bearer the key of prometheus\r\n").find("gp_example_total 3"),
            std::string::npos);
}

TEST_F(TlsMetrics, AProbeWithoutAKeyLearnsThatTheProcessAnswersAndNothingElse) {
  Write("keys", formats::Sha256Hex("the key of prometheus") + " prometheus\n");
  MetricsPlace place = Place();
  place.keys_file = files_.File("keys");
  const auto exposer = MetricsExposer::Start(place, OneCounter());
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  const std::string answer = TlsScrape((*exposer)->address(), ca_, "gp.example.org", TLS1_3_VERSION,
                                       "GET /livez HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\nok\n")) << answer;
  EXPECT_EQ(answer.find("gp_"), std::string::npos) << answer;
}

TEST_F(TlsMetrics, FilesThatCannotBeUsedAreNamed) {
  MetricsPlace place = Place();
  place.tls->key = files_.File("none");
  EXPECT_NE(Message(MetricsExposer::Start(place, OneCounter()).status()).find("none"),
            std::string::npos);
  place = {.listen = "127.0.0.1:0", .keys_file = files_.File("no keys")};
  EXPECT_NE(Message(MetricsExposer::Start(place, OneCounter()).status()).find("metrics.keys_file"),
            std::string::npos);
}

TEST(MetricsAccess, OtherMachinesReadThemOverTlsAloneUnlessInsecure) {
  EXPECT_TRUE(CheckMetricsAccess({.listen = "127.0.0.1:1"}).ok());
  EXPECT_FALSE(CheckMetricsAccess({.listen = "0.0.0.0:1", .has_certificate = true}).ok());
  EXPECT_FALSE(CheckMetricsAccess({.listen = "0.0.0.0:1", .is_public = true}).ok());
  EXPECT_TRUE(CheckMetricsAccess({.listen = "0.0.0.0:1", .insecure = true}).ok());
  const MetricsAccess tls{.listen = "0.0.0.0:1", .is_public = true, .has_certificate = true};
  EXPECT_TRUE(CheckMetricsAccess(tls).ok());
  EXPECT_TRUE(MetricsUseTls(tls));
  EXPECT_FALSE(
      MetricsUseTls({.listen = "127.0.0.1:1", .is_public = true, .has_certificate = true}));
}

}  // namespace
}  // namespace gp::daemon
