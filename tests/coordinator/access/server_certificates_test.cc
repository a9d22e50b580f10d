#include "coordinator/access/server_certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "fakes/fake_clock.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"
#include "lib/rpc/test_certificates.h"
#include "security/node_name.h"

namespace gp::coordinator {
namespace {

using security::Certificate;

constexpr std::chrono::hours kDay{24};

class ServerCertificatesTest : public ::testing::Test {
 protected:
  CertificateOptions Options() const {
    return {.directory = directory_.File("security"),
            .hosts = {"127.0.0.1", "gp.example.org"},
            .lifetime = 30 * kDay};
  }

  StatusOr<std::unique_ptr<ServerCertificates>> Open() { return Open(Options()); }
  StatusOr<std::unique_ptr<ServerCertificates>> Open(CertificateOptions options) {
    return ServerCertificates::Open(std::move(options), clock_);
  }

  std::string Path(const std::string& name) const { return directory_.File("security/" + name); }
  std::string Text(const std::string& name) const { return *ReadFile(Path(name)); }
  Certificate Served(const std::string& name = "server.pem") const {
    return *Certificate::FromPem(Text(name));
  }

  TemporaryDirectory directory_;
  FakeClock clock_;
};

TEST_F(ServerCertificatesTest, TheFirstStartMakesWhatTlsNeeds) {
  const auto certificates = Open();
  ASSERT_TRUE(certificates.ok()) << certificates.status();
  const Certificate served = Served();
  EXPECT_EQ(served.DnsNames(), std::vector<std::string>{"gp.example.org"});
  EXPECT_EQ(served.IpAddresses(), std::vector<std::string>{"127.0.0.1"});
  EXPECT_TRUE(served.IsSignedBy((*certificates)->authority()));
  EXPECT_EQ((*certificates)->anchor().Digest(), (*certificates)->authority().Digest());
  EXPECT_EQ(Certificate::ChainFromPem(Text("server.pem"))->back().Digest(),
            (*certificates)->authority().Digest())
      << "a client finds the authority by its digest in what the server presents";
  for (const std::string name : {"ca.crt", "ca.key", "server.pem"}) {
    struct stat status {};
    ASSERT_EQ(stat(Path(name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
  }
}

TEST_F(ServerCertificatesTest, TheNextStartTakesTheSameFiles) {
  ASSERT_TRUE(Open().ok());
  const std::string authority = Text("ca.crt");
  const std::string served = Text("server.pem");
  clock_.Advance(19 * kDay);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Text("ca.crt"), authority);
  EXPECT_EQ(Text("server.pem"), served);
}

TEST_F(ServerCertificatesTest, ACertificateIsRenewedAfterTwoThirdsOfItsLife) {
  const auto certificates = Open();
  ASSERT_TRUE(certificates.ok());
  const Certificate first = Served();
  clock_.Advance(20 * kDay - std::chrono::seconds(1));
  ASSERT_TRUE((*certificates)->Refresh().ok());
  EXPECT_EQ(Served().Serial(), first.Serial());
  clock_.Advance(std::chrono::seconds(1));
  ASSERT_TRUE((*certificates)->Refresh().ok());
  EXPECT_NE(Served().Serial(), first.Serial());
  EXPECT_TRUE(Served().CheckLifetime(clock_.WallNow() + 30 * kDay).ok());
}

TEST_F(ServerCertificatesTest, TheThreadRenewsInTime) {
  CertificateOptions options = Options();
  options.period = std::chrono::milliseconds(5);
  const auto certificates = Open(options);
  ASSERT_TRUE(certificates.ok());
  const std::string first = Served().Serial();
  clock_.Advance(20 * kDay);
  (*certificates)->Start();
  EXPECT_TRUE(Eventually([&] { return Served().Serial() != first; }));
}

TEST_F(ServerCertificatesTest, AnotherHostNeedsAnotherCertificate) {
  ASSERT_TRUE(Open().ok());
  CertificateOptions options = Options();
  options.hosts.push_back("10.0.0.7");
  ASSERT_TRUE(Open(options).ok());
  EXPECT_THAT(Served().IpAddresses(), ::testing::Contains("10.0.0.7"));
}

TEST_F(ServerCertificatesTest, ADamagedServerFileIsMadeAnew) {
  ASSERT_TRUE(Open().ok());
  const std::string whole = Text("server.pem");
  for (const size_t size : {size_t{0}, whole.size() / 4, whole.size() / 2}) {
    ASSERT_TRUE(WriteFileAtomically(Path("server.pem"), whole.substr(0, size), 0600).ok());
    ASSERT_TRUE(Open().ok());
    EXPECT_TRUE(Served().IsSignedBy(Served("ca.crt")));
  }
}

// The certificate was issued while this machine's clock was ahead, so clients with correct clocks
// reject it. Case runs-and-service/34: the clock of either side may be wrong.
TEST_F(ServerCertificatesTest, ACertificateThatIsNotValidYetIsMadeAnew) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(RemoveTree(Path("server.pem")).ok());
  clock_.StepWall(kDay);
  ASSERT_TRUE(Open().ok());
  clock_.StepWall(-kDay);
  EXPECT_FALSE(Served().CheckLifetime(clock_.WallNow()).ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_TRUE(Served().CheckLifetime(clock_.WallNow()).ok());
}

TEST_F(ServerCertificatesTest, AnAuthorityThatIsNotValidYetIsKeptWithAWarning) {
  ASSERT_TRUE(Open().ok());
  const std::string authority = Text("ca.crt");
  clock_.StepWall(-kDay);
  ::testing::internal::CaptureStdout();
  const auto opened = Open();
  const std::string log = ::testing::internal::GetCapturedStdout();
  EXPECT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(Text("ca.crt"), authority);
  EXPECT_THAT(log, ::testing::AllOf(::testing::HasSubstr(Path("ca.crt")),
                                    ::testing::HasSubstr("the certificate is not valid before"),
                                    ::testing::HasSubstr("set this machine's clock")));
}

TEST_F(ServerCertificatesTest, ALostAuthorityIsNotReplacedSilently) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(RemoveTree(Path("ca.key")).ok());
  const auto again = Open();
  EXPECT_FALSE(again.ok());
  EXPECT_THAT(Message(again.status()), ::testing::HasSubstr("ca.key"));
  EXPECT_THAT(Message(again.status()), ::testing::HasSubstr("backup"));
}

TEST_F(ServerCertificatesTest, AKeyThatOthersMayReadIsRefused) {
  ASSERT_TRUE(Open().ok());
  ASSERT_EQ(chmod(Path("ca.key").c_str(), 0644), 0);
  EXPECT_EQ(Open().status().code(), StatusCode::kPermissionDenied);
}

TEST_F(ServerCertificatesTest, SignsForANode) {
  const auto certificates = Open();
  ASSERT_TRUE(certificates.ok());
  const auto key = security::PrivateKey::Generate();
  const auto made =
      (*certificates)
          ->IssueNode(security::CertificateRequest::For(key), "abc123", clock_.WallNow());
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(security::NodeOf(*made), "abc123");
  EXPECT_TRUE(made->IsSignedBy((*certificates)->authority()));
}

TEST_F(ServerCertificatesTest, ServesCertificatesOfSomebodyElsesMaking) {
  const rpc::TestCertificates theirs;
  CertificateOptions options = Options();
  options.certificate = options.key = theirs.Path("server.pem");
  options.client_ca = theirs.Path("ca.crt");
  const auto opened = ServerCertificates::Open(options, SystemClock());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ((*opened)->tls().certificate, theirs.Path("server.pem"));
  EXPECT_FALSE(FileExists(Path("server.pem")));
  EXPECT_EQ((*opened)->anchor().Digest(), theirs.authority().certificate().Digest());
  const auto clients = Certificate::ChainFromPem(*ReadFile((*opened)->tls().client_ca));
  ASSERT_EQ(clients->size(), 2u);
  EXPECT_EQ(clients->front().Digest(), (*opened)->authority().Digest());
  EXPECT_EQ(clients->back().Digest(), theirs.authority().certificate().Digest());
}

TEST_F(ServerCertificatesTest, FilesOfSomebodyElseThatDoNotFitAreNamed) {
  const rpc::TestCertificates theirs;
  CertificateOptions options = Options();
  options.certificate = theirs.Path("server.pem");
  options.key = theirs.Path("client.pem");
  const Status mixed = ServerCertificates::Open(options, SystemClock()).status();
  EXPECT_EQ(mixed.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(mixed), ::testing::HasSubstr("client.pem"));
  options.key = options.certificate;
  clock_.Advance(100 * 365 * kDay);
  EXPECT_THAT(Message(Open(options).status()), ::testing::HasSubstr("expired"));
}

}  // namespace
}  // namespace gp::coordinator
