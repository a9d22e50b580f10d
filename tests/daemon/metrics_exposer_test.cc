#include "daemon/metrics_exposer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <prometheus/counter.h>
#include <prometheus/registry.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/file.h"
#include "rpc/listen_address.h"

namespace gp::daemon {
namespace {

// What http://ADDRESS/metrics says.
std::string Scrape(const std::string& address_text) {
  const auto address = rpc::ParseListenAddress(address_text).value();
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_port = htons(static_cast<uint16_t>(address.port));
  inet_pton(AF_INET, address.host.c_str(), &target.sin_addr);
  const FileDescriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(connection.get(), reinterpret_cast<sockaddr*>(&target), sizeof target), 0);
  EXPECT_TRUE(WriteAll(connection.get(), "GET /metrics HTTP/1.0\r\n\r\n", "metrics").ok());
  std::string answer;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 1; got > 0;) {
    got = read(connection.get(), buffer.data(), buffer.size());
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
  const auto exposer = MetricsExposer::Start("127.0.0.1:0", OneCounter());
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  EXPECT_NE(Scrape((*exposer)->address()).find("gp_example_total 3"), std::string::npos);
}

TEST(MetricsExposer, TheAddressIsOneThatAClientCanUse) {
  const auto exposer = MetricsExposer::Start("0.0.0.0:0", OneCounter());
  ASSERT_TRUE(exposer.ok()) << exposer.status();
  EXPECT_TRUE((*exposer)->address().starts_with("127.0.0.1:")) << (*exposer)->address();
}

// The library alone takes a second or two for each, which is more than a test may take for all.
TEST(MetricsExposer, EndsWithoutWaitingForItsListener) {
  const auto registry = OneCounter();
  for (int i = 0; i < 200; ++i) {
    const auto exposer = MetricsExposer::Start("127.0.0.1:0", registry);
    ASSERT_TRUE(exposer.ok()) << exposer.status();
  }
}

TEST(MetricsExposer, APortInUseIsNamed) {
  const auto first = MetricsExposer::Start("127.0.0.1:0", OneCounter());
  ASSERT_TRUE(first.ok());
  const auto second = MetricsExposer::Start((*first)->address(), OneCounter());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(Message(second.status()).find((*first)->address()), std::string::npos);
  EXPECT_NE(Message(second.status()).find("metrics.listen"), std::string::npos);
}

}  // namespace
}  // namespace gp::daemon
