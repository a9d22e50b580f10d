// A coordinator on TCP with TLS, nodes that join with tokens, and clients that must be refused.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/file.h"
#include "base/secret_file.h"
#include "gp/v1/access_service.grpc.pb.h"
#include "gp/v1/agent_service.grpc.pb.h"
#include "gp/v1/enrollment_service.grpc.pb.h"
#include "integration/cluster.h"
#include "integration/typed_gpctl.h"
#include "lib/rpc/connected_channel.h"
#include "rpc/listen_address.h"
#include "rpc/status.h"
#include "security/certificate.h"
#include "security/certificate_request.h"
#include "security/fetched_chain.h"

namespace gp::testing {
namespace {

using security::Certificate;
using security::PrivateKey;
using ::testing::AllOf;
using ::testing::HasSubstr;

void Limit(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
}

int CountOf(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

class TlsCluster : public ::testing::Test {
 protected:
  void Start(const std::string& config = "") {
    cluster_.emplace(ClusterOptions{.trainer = std::getenv("GP_FAKE_TRAINER"),
                                    .coordinator_config = config,
                                    .listen = "127.0.0.1:0"});
    EXPECT_TRUE(WriteFileAtomically(cluster_->directory() + "/text.txt", "some text\n").ok());
    cluster_->StartCoordinator();
  }

  // An admin creates a token over the Unix socket.
  std::string MakeToken(const std::string& kind) {
    v1::CreateTokenRequest request;
    request.set_kind(kind);
    request.set_name("somebody");
    if (kind == "user") (*request.mutable_roles())["*"] = "admin";
    request.set_ttl_seconds(600);
    grpc::ClientContext context;
    Limit(context);
    v1::CreateTokenResponse response;
    const auto stub = v1::AccessService::NewStub(rpc::ConnectedChannel(cluster_->address()));
    const Status made = rpc::FromGrpc(stub->CreateToken(&context, request, &response));
    EXPECT_TRUE(made.ok()) << made;
    return response.token();
  }

  Status RevokeNode(const std::string& node) {
    v1::RevokeNodeRequest request;
    request.set_node_id(node);
    grpc::ClientContext context;
    Limit(context);
    v1::RevokeNodeResponse response;
    const auto stub = v1::EnrollmentService::NewStub(rpc::ConnectedChannel(cluster_->address()));
    return rpc::FromGrpc(stub->RevokeNode(&context, request, &response));
  }

  std::string CaPath() const { return cluster_->directory() + "/coordinator/security/ca.crt"; }
  rpc::ChannelTls Anonymous() const { return {.ca = CaPath()}; }

  // Joins as a node; returns the files of the node's certificate.
  rpc::ChannelTls Join(const std::string& node) {
    const PrivateKey key = PrivateKey::Generate();
    v1::JoinRequest request;
    request.set_token(MakeToken("join"));
    request.set_node_id(node);
    request.set_request(security::CertificateRequest::For(key).Pem());
    grpc::ClientContext context;
    Limit(context);
    v1::NodeCertificate response;
    const auto stub = v1::EnrollmentService::NewStub(
        rpc::ConnectedChannel(cluster_->listen(), {.tls = Anonymous()}));
    const Status joined = rpc::FromGrpc(stub->Join(&context, request, &response));
    EXPECT_TRUE(joined.ok()) << joined;
    const std::string path = cluster_->directory() + "/" + node + ".pem";
    EXPECT_TRUE(WriteSecretFile(path, key.Pem() + response.certificate()).ok());
    return {.ca = CaPath(), .certificate = path, .key = path};
  }

  // Opens an agent stream as `node`; OK if the coordinator accepts it, otherwise the error.
  Status ConnectAs(const std::string& node, const rpc::ChannelTls& tls,
                   const std::string& token = "") {
    const auto stub =
        v1::AgentService::NewStub(rpc::ConnectedChannel(cluster_->listen(), {.tls = tls}));
    grpc::ClientContext context;
    Limit(context);
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    const auto stream = stub->Connect(&context);
    v1::AgentMessage message;
    message.mutable_hello()->set_protocol(1);
    message.mutable_hello()->set_protocol_min(1);
    message.mutable_hello()->set_node_id(node);
    message.mutable_hello()->set_name(node);
    stream->Write(message);
    v1::CoordinatorMessage answer;
    if (stream->Read(&answer)) {
      context.TryCancel();
      stream->Finish();
      return answer.has_welcome() ? OkStatus() : Internal("{}", answer.refused().reason());
    }
    return rpc::FromGrpc(stream->Finish());
  }

  StatusOr<Certificate> Served() const {
    const auto address = rpc::ParseListenAddress(cluster_->listen());
    const auto chain =
        security::FetchChain({address->host, address->port}, std::chrono::seconds(20));
    return chain.ok() ? StatusOr<Certificate>(chain->front()) : chain.status();
  }

  std::string ServedSerial() const {
    const auto served = Served();
    return served.ok() ? served->Serial() : "";
  }

  std::string NodeSerial(const std::string& name) const {
    const auto pem = ReadFile(cluster_->directory() + "/" + name + "/security/node.pem");
    const auto certificate = Certificate::FromPem(pem.value_or(""));
    return certificate.ok() ? certificate->Serial() : "";
  }

  std::string Log(const std::string& name) const {
    return ReadFile(cluster_->directory() + "/" + name + ".log").value_or("");
  }

  bool IsConnected(const std::string& name) {
    for (const v1::Node& node : cluster_->Nodes()) {
      if (node.name() == name) return node.connected();
    }
    return false;
  }

  std::optional<Cluster> cluster_;
};

TEST_F(TlsCluster, EveryCertificateRotatesUnderARunThatLosesNoStep) {
  Start("tls: {lifetime: 6s}\n");
  cluster_->StartWorker("node-a",
                        {.coordinator = cluster_->listen(), .join_token = MakeToken("join")});
  const std::string server = ServedSerial();
  const std::string node = NodeSerial("node-a");
  ASSERT_FALSE(server.empty() || node.empty());
  const int steps = 400;  // the run outlasts the first certificates
  const std::string id = cluster_->Submit(FakeRun(2, steps, "fake-step-ms: '25'"));
  EXPECT_TRUE(Eventually([&] { return ServedSerial() != server && NodeSerial("node-a") != node; }));
  EXPECT_FALSE(IsTerminal(cluster_->Get(id).state())) << "they rotated while it trained";
  const v1::Run run = cluster_->WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
  EXPECT_EQ(run.epoch(), 1u);
  EXPECT_EQ(run.failures(), 0);
  ASSERT_TRUE(Eventually([&] { return cluster_->Points(id).size() >= size_t{steps}; }));
  const auto points = cluster_->Points(id);
  for (size_t i = 0; i < points.size(); ++i) {
    ASSERT_EQ(points[i].step(), static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(CountOf(Log("coordinator"), "agent connected"), 1) << "the stream never ended";
}

TEST_F(TlsCluster, ARevokedNodeIsPutOutAndNotLetInAgain) {
  Start();
  cluster_->StartWorker("node-a",
                        {.coordinator = cluster_->listen(), .join_token = MakeToken("join")});
  ASSERT_TRUE(Eventually([&] { return IsConnected("node-a"); }));
  const std::string id = cluster_->Nodes()[0].node_id();
  EXPECT_EQ(RevokeNode("nobody").code(), StatusCode::kNotFound);
  ASSERT_TRUE(RevokeNode(id).ok());
  EXPECT_TRUE(Eventually([&] { return !IsConnected("node-a"); }));
  EXPECT_TRUE(Eventually([&] { return CountOf(Log("node-a"), "was revoked") > 0; }));
  cluster_->worker("node-a").Kill();
  cluster_->StartWorker("node-a",
                        {.coordinator = cluster_->listen(), .join_token = MakeToken("join")});
  EXPECT_TRUE(Eventually([&] { return IsConnected("node-a"); })) << "with a new token";
}

TEST_F(TlsCluster, ANodeComesBackWithItsCertificateAndWithoutAToken) {
  Start();
  cluster_->StartWorker("node-a",
                        {.coordinator = cluster_->listen(), .join_token = MakeToken("join")});
  cluster_->worker("node-a").Kill();
  cluster_->StartWorker("node-a", {.coordinator = cluster_->listen()});
  EXPECT_TRUE(Eventually([&] { return IsConnected("node-a"); }));
}

TEST_F(TlsCluster, ANodeSpeaksForItselfAlone) {
  Start();
  const rpc::ChannelTls mine = Join("mine");
  EXPECT_TRUE(ConnectAs("mine", mine).ok()) << ConnectAs("mine", mine);
  const Status other = ConnectAs("other", mine);
  EXPECT_EQ(other.code(), StatusCode::kPermissionDenied) << other;
  EXPECT_NE(Message(other).find("mine"), std::string::npos) << other;
  ASSERT_TRUE(RevokeNode("mine").ok());
  EXPECT_EQ(ConnectAs("mine", mine).code(), StatusCode::kPermissionDenied);
}

TEST_F(TlsCluster, OnlyANodesCertificateOpensAnAgentsStream) {
  Start();
  const Status stranger = ConnectAs("n1", Anonymous());
  EXPECT_EQ(stranger.code(), StatusCode::kUnauthenticated) << stranger;
  const Status admin = ConnectAs("n1", Anonymous(), MakeToken("user"));
  EXPECT_EQ(admin.code(), StatusCode::kPermissionDenied) << admin;
  const Status joiner = ConnectAs("n1", Anonymous(), MakeToken("join"));
  EXPECT_EQ(joiner.code(), StatusCode::kUnauthenticated) << joiner;
}

// Sends bytes that are not TLS; true if the coordinator closes the connection.
bool KnockAndAwaitTheEnd(int port) {
  const FileDescriptor knock(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (connect(knock.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return false;
  if (!WriteAll(knock.get(), "GET / HTTP/1.1\r\n\r\n", "the coordinator").ok()) return false;
  std::array<char, 256> answer{};
  ssize_t got = 0;
  do {
    got = read(knock.get(), answer.data(), answer.size());
  } while (got > 0);
  return true;
}

TEST_F(TlsCluster, AStrangerDoesNotFillTheLog) {
  Start();
  const int port = rpc::ParseListenAddress(cluster_->listen())->port;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(KnockAndAwaitTheEnd(port));
  EXPECT_TRUE(
      Eventually([&] { return CountOf(Log("coordinator"), "gRPC reported an error") > 0; }));
  const std::string log = Log("coordinator");  // a single read, because the log may still grow
  EXPECT_LE(CountOf(log, "gRPC reported an error"), 20) << "ten a minute";
  EXPECT_EQ(CountOf(log, "Handshake failed"), CountOf(log, "gRPC reported an error"))
      << "gRPC writes no lines of its own";
}

// Calls any unary method; returns the raw response.
std::string AskAnybody(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                       const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  Limit(context);
  const auto await = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  if (!await()) return "";
  const grpc::Slice slice(request);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  await();
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  const bool answered = await();
  grpc::Status status;
  call->Finish(&status, nullptr);
  await();
  grpc::Slice whole;
  return answered && answer.DumpToSingleSlice(&whole).ok()
             ? std::string(reinterpret_cast<const char*>(whole.begin()), whole.size())
             : status.error_message();
}

// These services bypass the access gate, because load balancers and grpcurl call them.
TEST_F(TlsCluster, HealthAndReflectionAnswerAnybodyAndTellNothingOfRuns) {
  Start();
  const std::string id = cluster_->Submit(FakeRun(1, 10));
  const auto channel = rpc::ConnectedChannel(cluster_->listen(), {.tls = Anonymous()});
  EXPECT_EQ(AskAnybody(channel, "/grpc.health.v1.Health/Check", ""), "\x08\x01") << "serving";
  const std::string services =
      AskAnybody(channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                 std::string("\x3a\x01*"));
  EXPECT_EQ(CountOf(services, "gp.v1.RunService"), 1) << services;
  EXPECT_EQ(CountOf(services, id), 0);
  EXPECT_NE(AskAnybody(channel, "/gp.v1.RunService/List", "").find("token"), std::string::npos);
}

TEST_F(TlsCluster, ANodeIsNoUser) {
  Start();
  const auto stub =
      v1::RunService::NewStub(rpc::ConnectedChannel(cluster_->listen(), {.tls = Join("mine")}));
  grpc::ClientContext context;
  Limit(context);
  v1::ListResponse response;
  const Status listed = rpc::FromGrpc(stub->List(&context, {}, &response));
  EXPECT_EQ(listed.code(), StatusCode::kPermissionDenied) << listed;
}

TEST_F(TlsCluster, AWorkerThatCannotJoinSaysWhyAndEnds) {
  Start();
  cluster_->LaunchWorker("none", {.coordinator = cluster_->listen()});
  EXPECT_EQ(cluster_->worker("none").Wait(kPatience), 1);
  EXPECT_NE(Log("none").find("gpctl token create --join"), std::string::npos) << Log("none");
  cluster_->LaunchWorker("user",
                         {.coordinator = cluster_->listen(), .join_token = MakeToken("user")});
  EXPECT_EQ(cluster_->worker("user").Wait(kPatience), 1);
  const std::string token = MakeToken("join");
  cluster_->StartWorker("first", {.coordinator = cluster_->listen(), .join_token = token});
  cluster_->LaunchWorker("second", {.coordinator = cluster_->listen(), .join_token = token});
  EXPECT_EQ(cluster_->worker("second").Wait(kPatience), 1);
  EXPECT_NE(Log("second").find("is used up"), std::string::npos) << Log("second");
  EXPECT_EQ(Log("second").find(token), std::string::npos) << "a secret is in the log";
}

// A coordinator whose certificate is new, and clients with wrong clocks.
class WrongClock : public TlsCluster {
 protected:
  void SetUp() override {
    Start();
    const auto served = Served();
    ASSERT_TRUE(served.ok()) << served.status();
    life_ = served->lifetime();
  }

  static std::vector<std::string> ClockAt(std::chrono::seconds ahead) {
    return {fmt::format("GP_CLOCK_SHIFT={}", ahead.count()),
            fmt::format("LD_PRELOAD={}", std::getenv("GP_SHIFTED_CLOCK_LIBRARY"))};
  }

  // Runs gpctl as an admin on another machine, whose clock is `ahead`.
  TypedOutcome Type(const std::string& command, std::chrono::seconds ahead) {
    std::vector<std::string> environment = ClockAt(ahead);
    environment.push_back("GPCTL_SERVER=" + cluster_->listen());
    environment.push_back("GPCTL_CA_FILE=" + CaPath());
    environment.push_back("GPCTL_TOKEN_FILE=" + cluster_->directory() +
                          "/coordinator/security/admin.token");
    return TypeGpctl(*cluster_, command, environment);
  }

  // Expects that `text` contains the certificate's problem (`words`) and the current time of the
  // wrong clock.
  void ExpectBothTimes(const std::string& text, const std::string& words,
                       std::chrono::seconds ahead) const {
    constexpr std::string_view kClock = ", and this machine's clock says ";
    EXPECT_THAT(text, AllOf(HasSubstr(words), HasSubstr(kClock), HasSubstr("UTC: set the clock")));
    const std::string now = security::TimeText(SystemClock().WallNow() + ahead);
    const std::string told =
        text.substr(std::min(text.find(kClock) + kClock.size(), text.size()), now.size());
    EXPECT_GE(told, security::TimeText(begun_ + ahead));
    EXPECT_LE(told, now);
  }

  // Expects the problem in the messages of gpctl, of its doctor and of an agent; with the right
  // clock, the agent joins.
  void ExpectEverybodyNames(const std::string& words, std::chrono::seconds ahead) {
    const TypedOutcome listed = Type("list -a", ahead);
    EXPECT_NE(listed.code, 0);
    ExpectBothTimes(listed.output, words, ahead);
    ExpectBothTimes(Type("doctor", ahead).output, words, ahead);
    cluster_->LaunchWorker("node-a", {.environment = ClockAt(ahead),
                                      .coordinator = cluster_->listen(),
                                      .join_token = MakeToken("join")});
    EXPECT_TRUE(Eventually([&] { return CountOf(Log("node-a"), "set the clock") > 0; }));
    ExpectBothTimes(Log("node-a"), words, ahead);
    cluster_->StartWorker("node-a",
                          {.coordinator = cluster_->listen(), .join_token = MakeToken("join")});
    EXPECT_TRUE(Eventually([&] { return IsConnected("node-a"); }));
  }

  const WallTime begun_ = SystemClock().WallNow();
  security::Lifetime life_;
};

// Case runs-and-service/34: gpctl and agents kept repeating "certificate verify failed".
TEST_F(WrongClock, BehindIsNamedWithBothTimes) {
  ExpectEverybodyNames("is not valid before " + security::TimeText(life_.begin),
                       -std::chrono::hours(2));
}

TEST_F(WrongClock, AheadIsNamedWithBothTimes) {
  ExpectEverybodyNames("was valid until " + security::TimeText(life_.end),
                       std::chrono::hours(24 * 400));
}

TEST_F(WrongClock, ALittleIsNoProblem) {
  for (const auto ahead : {-std::chrono::minutes(4), std::chrono::minutes(4)}) {
    EXPECT_EQ(Type("list -a", ahead).code, 0);
  }
}

}  // namespace
}  // namespace gp::testing
