#include "rpc/server_certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "gp/v1/run_service.grpc.pb.h"
#include "lib/rpc/test_certificates.h"
#include "rpc/server.h"

namespace gp::rpc {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kPlenty{20};

// A server whose certificate is valid for an hour from now.
class ServerCertificatesTest : public testing::Test {
 protected:
  ServerCertificatesTest() {
    signal(SIGPIPE, SIG_IGN);
    auto server = RpcServer::Start(
        {.endpoints = {{.address = "127.0.0.1:0", .tls = certificates_.Server()}}}, {&service_});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  Status ExplainAt(std::chrono::nanoseconds ahead) const {
    const auto shift = std::chrono::duration_cast<WallTime::duration>(ahead);
    return ExplainCertificates(server_->address(), certificates_.Anonymous(),
                               SystemClock().WallNow() + shift, kPlenty);
  }

  TestCertificates certificates_;
  v1::RunService::Service service_;
  std::unique_ptr<RpcServer> server_;
};

TEST_F(ServerCertificatesTest, NothingIsWrongWhenClocksDifferALittle) {
  for (const auto ahead : {minutes(-4), minutes(0), minutes(30)}) {
    EXPECT_TRUE(ExplainAt(ahead).ok()) << ExplainAt(ahead);
  }
}

// Case runs-and-service/34: the only message was "certificate verify failed", repeated forever.
TEST_F(ServerCertificatesTest, AClockThatIsWrongIsNamedWithBothTimes) {
  const Status behind = ExplainAt(-hours(2));
  EXPECT_EQ(behind.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(behind),
              AllOf(HasSubstr("is not valid before 20"),
                    HasSubstr(", and this machine's clock says 20"), HasSubstr("set the clock")));
  EXPECT_THAT(Message(ExplainAt(hours(2))),
              AllOf(HasSubstr("was valid until 20"), HasSubstr("this machine's clock says 20")));
  EXPECT_THAT(Message(ExplainAt(hours(24 * 365 * 20))), HasSubstr("set the clock"));
}

TEST_F(ServerCertificatesTest, AnotherAuthorityIsNamed) {
  const TestCertificates others;
  const Status other =
      ExplainCertificates(server_->address(), others.Anonymous(), SystemClock().WallNow(), kPlenty);
  EXPECT_EQ(other.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(other), HasSubstr("another coordinator answers there"));
}

TEST_F(ServerCertificatesTest, AServerThatIsNotThereExplainsNothing) {
  const std::string address = server_->address();
  server_->Shutdown(std::chrono::seconds(0));
  server_.reset();
  EXPECT_TRUE(
      ExplainCertificates(address, certificates_.Anonymous(), SystemClock().WallNow(), kPlenty)
          .ok());
}

}  // namespace
}  // namespace gp::rpc
