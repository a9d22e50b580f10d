// NodeCredentials with an enrollment service in this process.
#include "worker/agent/node_credentials.h"

#include <gtest/gtest.h>

#include <csignal>
#include <deque>
#include <utility>

#include "fakes/fake_clock.h"
#include "gp/v1/enrollment_service.grpc.pb.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"
#include "lib/rpc/spoiled_connect.h"
#include "lib/rpc/test_certificates.h"
#include "rpc/server.h"
#include "rpc/status.h"
#include "rpc/token.h"

namespace gp::agent {
namespace {

using security::Certificate;
using security::CertificateRequest;

// Signs every request, but first fails those listed in `failures`, after recording them.
class FakeEnrollment final : public v1::EnrollmentService::Service {
 public:
  explicit FakeEnrollment(const security::Authority& authority) : authority_(authority) {}

  grpc::Status Join(grpc::ServerContext*, const v1::JoinRequest* request,
                    v1::NodeCertificate* response) override {
    tokens.push_back(request->token());
    return Sign(request->node_id(), request->request(), *response);
  }
  grpc::Status Renew(grpc::ServerContext* context, const v1::RenewRequest* request,
                     v1::NodeCertificate* response) override {
    for (const auto& pem : context->auth_context()->FindPropertyValues("x509_pem_cert")) {
      const auto certificate = Certificate::FromPem({pem.data(), pem.size()});
      return Sign(security::NodeOf(*certificate), request->request(), *response);
    }
    return rpc::ToGrpc(Unauthenticated("no certificate"));
  }

  std::chrono::seconds age{0};  // age of the next certificate; certificates are valid for an hour
  std::deque<Status> failures;
  std::vector<std::string> tokens;
  std::vector<std::string> keys;  // digests of the public keys

 private:
  grpc::Status Sign(const std::string& node, const std::string& pem,
                    v1::NodeCertificate& response) {
    const auto request = CertificateRequest::FromPem(pem);
    keys.push_back(request->KeyDigest());
    if (!failures.empty()) {
      const Status failure = failures.front();
      failures.pop_front();
      return rpc::ToGrpc(failure);
    }
    const WallTime made_at = SystemClock().WallNow() - std::exchange(age, {});
    const auto made =
        authority_.IssueClient(*request, security::NodeUri(node), made_at, std::chrono::hours(1));
    response.set_certificate(made->Pem());
    return grpc::Status::OK;
  }

  const security::Authority& authority_;
};

class NodeCredentialsTest : public ::testing::Test {
 protected:
  NodeCredentialsTest() : service_(certificates_.authority()) {
    signal(SIGPIPE, SIG_IGN);
    auto server = rpc::RpcServer::Start(
        {.endpoints = {{.address = "127.0.0.1:0", .tls = certificates_.Server()}}}, {&service_});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // Options with a file that contains a join token with this digest.
  NodeCredentialsOptions Options(const std::string& digest) const {
    const std::string token = rpc::TokenText(rpc::MakeToken(rpc::TokenKind::kJoin, digest)) + "\n";
    EXPECT_TRUE(WriteFileAtomically(directory_.File("token"), token, 0600).ok());
    return {.coordinator = server_->address(),
            .state_dir = directory_.path(),
            .node_id = "n1",
            .join_token_file = directory_.File("token"),
            .retry_max = std::chrono::milliseconds(200)};
  }
  NodeCredentialsOptions Options() const {
    return Options(certificates_.authority().certificate().Digest());
  }

  static StatusOr<std::unique_ptr<NodeCredentials>> Open(const NodeCredentialsOptions& options) {
    return NodeCredentials::Open(options, SystemClock(), [] { return false; });
  }

  std::string Serial() const {
    const auto pem = ReadFile(directory_.File("security/node.pem"));
    const auto certificate = Certificate::FromPem(pem.value_or(""));
    return certificate.ok() ? certificate->Serial() : "";
  }

  rpc::TestCertificates certificates_;
  FakeEnrollment service_;
  std::unique_ptr<rpc::RpcServer> server_;
  TemporaryDirectory directory_;
};

TEST_F(NodeCredentialsTest, JoinsOnceAndKeepsItsCertificate) {
  const auto first = Open(Options());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(rpc::CheckTls((*first)->tls()).ok());
  const std::string serial = Serial();
  NodeCredentialsOptions later = Options();
  later.join_token_file.clear();
  EXPECT_TRUE(Open(later).ok());
  EXPECT_EQ(Serial(), serial);
  EXPECT_EQ(service_.tokens.size(), 1u);
  EXPECT_FALSE(FileExists(directory_.File("security/node.key")));
}

TEST_F(NodeCredentialsTest, ShowsTheSameKeyAgainWhenAnAnswerGotLost) {
  service_.failures = {Unavailable("the answer was lost"), Unavailable("again")};
  ASSERT_TRUE(Open(Options()).ok());
  ASSERT_EQ(service_.keys.size(), 3u);
  EXPECT_EQ(service_.keys[0], service_.keys[1]);
  EXPECT_EQ(service_.keys[0], service_.keys[2]);
}

TEST_F(NodeCredentialsTest, ARevokedNodeJoinsAgainWithAToken) {
  ASSERT_TRUE(Open(Options()).ok());
  const std::string serial = Serial();
  const NodeCredentialsOptions with_token = Options();
  NodeCredentialsOptions without = with_token;
  without.join_token_file.clear();
  service_.failures = {PermissionDenied("the node was revoked")};
  ASSERT_TRUE(Open(without).ok());
  EXPECT_EQ(Serial(), serial) << "without a token there is nothing to join with";
  const auto rejoined = Open(with_token);
  ASSERT_TRUE(rejoined.ok()) << rejoined.status();
  EXPECT_NE(Serial(), serial);
  EXPECT_EQ(service_.tokens.size(), 2u);
  // The new certificate is used, so the token is not sent again.
  ASSERT_TRUE(Open(with_token).ok());
  EXPECT_EQ(service_.tokens.size(), 2u);
}

TEST_F(NodeCredentialsTest, ARevokedNodeJoinsAgainThoughItsFirstConnectionFails) {
  ASSERT_TRUE(Open(Options()).ok());
  const std::string serial = Serial();
  service_.failures = {PermissionDenied("the node was revoked")};
  rpc::SpoilConnects(1);
  const auto rejoined = Open(Options());
  ASSERT_TRUE(rejoined.ok()) << rejoined.status();
  EXPECT_EQ(rpc::ConnectsToSpoil(), 0);
  EXPECT_NE(Serial(), serial);
}

TEST_F(NodeCredentialsTest, ACoordinatorThatIsAwayDoesNotMakeItJoinAgain) {
  ASSERT_TRUE(Open(Options()).ok());
  const std::string serial = Serial();
  service_.failures = {Unavailable("the coordinator starts"), Unavailable("it still does")};
  ASSERT_TRUE(Open(Options()).ok());
  EXPECT_EQ(Serial(), serial);
  EXPECT_EQ(service_.tokens.size(), 1u);
}

TEST_F(NodeCredentialsTest, ARefusalIsFinal) {
  service_.failures = {Unauthenticated("the join token was used already")};
  const auto opened = Open(Options());
  EXPECT_EQ(opened.status().code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(service_.keys.size(), 1u);
}

TEST_F(NodeCredentialsTest, ATokenIsNotShownToAnotherServer) {
  const auto opened = Open(Options(std::string(64, 'a')));
  EXPECT_EQ(opened.status().code(), StatusCode::kPermissionDenied) << opened.status();
  EXPECT_TRUE(service_.tokens.empty());
}

TEST_F(NodeCredentialsTest, ANamedAuthorityTakesThePlaceOfTheDigest) {
  NodeCredentialsOptions options = Options("");
  EXPECT_EQ(Open(options).status().code(), StatusCode::kInvalidArgument);
  options.ca = certificates_.Path("ca.crt");
  EXPECT_TRUE(Open(options).ok());
  EXPECT_FALSE(FileExists(directory_.File("security/ca.crt")));
}

TEST_F(NodeCredentialsTest, WithoutATokenItTellsHowToGetOne) {
  NodeCredentialsOptions options = Options();
  options.join_token_file.clear();
  const auto opened = Open(options);
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(opened.status()).find("gpctl token create --join"), std::string::npos);
}

TEST_F(NodeCredentialsTest, WaitsForACoordinatorUntilItIsStopped) {
  NodeCredentialsOptions options = Options();
  server_->Shutdown(std::chrono::seconds(0));
  int asked = 0;
  const auto opened =
      NodeCredentials::Open(options, SystemClock(), [&asked] { return ++asked > 3; });
  EXPECT_EQ(opened.status().code(), StatusCode::kCancelled) << opened.status();
}

TEST_F(NodeCredentialsTest, WithAWrongClockItJoinsOnceAndWaitsForTheRightTime) {
  FakeClock clock;
  clock.StepWall(SystemClock().WallNow() - std::chrono::hours(2) - clock.WallNow());
  int asked = 0;
  const auto opened = NodeCredentials::Open(Options(), clock, [&] {
    if (++asked == 10) clock.StepWall(std::chrono::hours(2));
    return asked > 1000;
  });
  EXPECT_TRUE(opened.ok()) << opened.status();
  EXPECT_GE(asked, 10);
  EXPECT_EQ(service_.tokens.size(), 1u);
}

TEST_F(NodeCredentialsTest, RenewsWithAnotherKeyBeforeTheEnd) {
  service_.age = std::chrono::minutes(50);
  const auto credentials = Open(Options());
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  const std::string serial = Serial();
  EXPECT_TRUE(Eventually([&] { return Serial() != serial; }));
  EXPECT_TRUE(rpc::CheckTls((*credentials)->tls()).ok());
}

TEST_F(NodeCredentialsTest, ADamagedCertificateNeedsAToken) {
  ASSERT_TRUE(Open(Options()).ok());
  const std::string path = directory_.File("security/node.pem");
  const std::string whole = *ReadFile(path);
  ASSERT_TRUE(WriteFileAtomically(path, whole.substr(0, whole.size() / 2), 0600).ok());
  NodeCredentialsOptions options = Options();
  options.join_token_file.clear();
  EXPECT_EQ(Open(options).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Open(Options()).ok());
  EXPECT_EQ(service_.tokens.size(), 2u);
}

}  // namespace
}  // namespace gp::agent
