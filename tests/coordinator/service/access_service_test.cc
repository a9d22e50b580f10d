// All services behind a real gRPC server, called with tokens over its Unix socket and without
// tokens over TCP.
#include "coordinator/service/access_service.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "coordinator/control/replay.h"
#include "coordinator/service/agent_service.h"
#include "coordinator/service/enrollment_service.h"
#include "coordinator/service/node_service.h"
#include "coordinator/service/notifications/notification_service.h"
#include "coordinator/service/run_service.h"
#include "coordinator/service/storage/storage_service.h"
#include "coordinator/service/sweeps/sweep_service.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sample_events.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"
#include "lib/rpc/connected_channel.h"
#include "rpc/server.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Resolves a request to its own namespace and name.
class NamingResolver final : public RunFileResolver {
 public:
  StatusOr<ResolvedRun> Resolve(const SubmittedRunFile& submitted) const override {
    ResolvedRun resolved{SampleSubmission(), {}};
    resolved.submission.name = submitted.name;
    resolved.submission.run_namespace = kDefaultNamespace;
    for (const std::string& text : submitted.overrides) {
      if (text.starts_with("namespace=")) resolved.submission.run_namespace = text.substr(10);
    }
    resolved.submission.name =
        submitted.choose_name(resolved.submission.run_namespace, resolved.submission.name);
    return resolved;
  }
};

class NoAnnouncer final : public BatchObserver, public RecordObserver {
 public:
  void OnBatch(const PublishedBatch&) override {}
  void OnRecorded(const RunId&, const Progress&) override {}
};

constexpr int kWaitingMax = 4;

class AccessServiceTest : public ::testing::Test {
 protected:
  explicit AccessServiceTest(const CallLimitsOptions& limits = {}) : limits_(limits) {}

  void SetUp() override {
    hub_.Start();
    reconciler_.Start();
    auto server = rpc::RpcServer::Start(
        {.endpoints = {{listen()}}},
        {&run_service_, &storage_service_, &access_service_, &agents_, &enrollment_, &node_service_,
         &notification_service_, &sweep_service_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = rpc::ConnectedChannel(server_->address());
  }
  virtual std::string listen() const {
    return "unix:" + JoinPath(directory_.path(), "coordinator.sock");
  }
  void TearDown() override {
    server_->Shutdown(std::chrono::seconds(0));
    lanes_.Stop(kPatience);
    reconciler_.Stop();
    hub_.Stop();
  }

  // A call context with this token; an empty string sends no token.
  static std::unique_ptr<grpc::ClientContext> With(const std::string& token) {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + kPatience);
    if (!token.empty()) context->AddMetadata("authorization", "Bearer " + token);
    return context;
  }

  // Calls any method with an empty request.
  Status Call(std::string_view method, const std::string& token) {
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    const grpc::Slice nothing;
    const grpc::ByteBuffer request(&nothing, 1);
    const auto context = With(token);
    const auto call =
        stub.PrepareUnaryCall(context.get(), "/" + std::string(method), request, &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return rpc::FromGrpc(status);
  }

  std::string MakeToken(const Roles& roles, const std::string& name = "alice") {
    const auto issued = tokens_->Create({.name = name, .roles = roles});
    return rpc::TokenText(issued->token);
  }

  StatusOr<v1::CreateTokenResponse> Create(const std::string& with,
                                           const v1::CreateTokenRequest& request) {
    v1::CreateTokenResponse response;
    RETURN_IF_ERROR(rpc::FromGrpc(access().CreateToken(With(with).get(), request, &response)));
    return response;
  }

  StatusOr<std::string> Submit(const std::string& with, const std::string& name,
                               const std::string& run_namespace) {
    v1::SubmitRequest request;
    request.set_request_id(run_namespace + name);
    request.set_name(name);
    request.set_namespace_(run_namespace);
    v1::SubmitResponse response;
    RETURN_IF_ERROR(rpc::FromGrpc(runs().Submit(With(with).get(), request, &response)));
    return response.run().run_id();
  }

  StatusOr<v1::Run> Get(const std::string& with, const std::string& run) {
    v1::GetRequest request;
    request.set_run(run);
    v1::Run response;
    RETURN_IF_ERROR(rpc::FromGrpc(runs().Get(With(with).get(), request, &response)));
    return response;
  }

  std::vector<std::string> List(const std::string& with) {
    v1::ListResponse response;
    EXPECT_TRUE(runs().List(With(with).get(), {}, &response).ok());
    std::vector<std::string> names;
    for (const v1::Run& run : response.runs()) names.push_back(run.namespace_() + "/" + run.name());
    return names;
  }

  std::vector<formats::AuditRecord> Audit(const std::string& with) {
    const auto context = With(with);
    const auto reader = access().Audit(context.get(), {});
    std::vector<formats::AuditRecord> records;
    for (v1::AuditLine line; reader->Read(&line);) {
      records.push_back(formats::ParseAuditLine(line.line())->record);
    }
    EXPECT_TRUE(reader->Finish().ok());
    return records;
  }

  // Waits until the owner sees this many audit records, because refusals are recorded with a delay.
  std::vector<formats::AuditRecord> AwaitRecords(size_t count) {
    std::vector<formats::AuditRecord> records;
    EXPECT_TRUE(Eventually([&] {
      records = Audit("");
      return records.size() >= count;
    }));
    return records;
  }

  v1::RunService::Stub& runs() {
    if (runs_ == nullptr) runs_ = v1::RunService::NewStub(channel_);
    return *runs_;
  }
  v1::AccessService::Stub& access() {
    if (access_ == nullptr) access_ = v1::AccessService::NewStub(channel_);
    return *access_;
  }

  TemporaryDirectory directory_;
  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
  ChangeHub hub_{SystemClock(), std::chrono::milliseconds(20)};
  NoAnnouncer announcer_;
  Recorder recorder_{directory_.path(), {}, announcer_};
  Reconciler reconciler_{store_, SystemClock(), announcer_, *ReplayStore(store_), {}};
  NamingResolver resolver_;
  LocalStorage files_;
  StorageRoot storage_ = *StorageRoot::Open(files_, JoinPath(directory_.path(), "storage"));
  CheckpointVerifier verifier_{files_};
  const std::unique_ptr<TokenStore> tokens_ =
      TokenStore::Open(JoinPath(directory_.path(), "security"), SystemClock()).value();
  const std::unique_ptr<AuditLog> audit_ =
      AuditLog::Open(JoinPath(directory_.path(), "audit"), SystemClock(),
                     {.single_refusals_per_window = 1000})
          .value();
  WorkLanes lanes_;
  const CallLimitsOptions limits_;
  AccessGate gate_{*tokens_, *audit_, SystemClock(), {.limits = limits_}};
  const ServiceContext services_{gate_, lanes_, hub_};
  RunService run_service_{services_,
                          {reconciler_, recorder_, store_},
                          verifier_,
                          resolver_,
                          storage_,
                          SystemClock(),
                          {.version = "test", .quota = {.runs = 8, .waiting = kWaitingMax}}};
  StorageService storage_service_{services_, reconciler_, recorder_, files_, storage_};
  AccessService access_service_{services_, *tokens_, *audit_, SystemClock()};
  const std::unique_ptr<NodeRegistry> nodes_ =
      NodeRegistry::Open(JoinPath(directory_.path(), "security"), SystemClock()).value();
  EnrollmentService enrollment_{services_, nullptr, *nodes_, reconciler_};
  NodeService node_service_{services_, reconciler_};
  NotificationService notification_service_{services_, nullptr};
  SweepService sweep_service_{services_, reconciler_, recorder_, {resolver_, storage_, store_}, {}};
  AgentServiceContext agent_context_{
      gate_, reconciler_, recorder_, hub_, {.group_key = GroupKey(GroupKey::Bytes{1})}};
  AgentService agents_{agent_context_};
  std::unique_ptr<rpc::RpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::RunService::Stub> runs_;
  std::unique_ptr<v1::AccessService::Stub> access_;
};

bool IsRefusal(const Status& status) {
  return status.code() == StatusCode::kUnauthenticated ||
         status.code() == StatusCode::kPermissionDenied;
}

class StrangerTest : public AccessServiceTest {
 protected:
  std::string listen() const override { return "127.0.0.1:0"; }
};

TEST_F(StrangerTest, GetsNothingFromAnyMethod) {
  for (const AccessRule& rule : AccessTable()) {
    if (rule.least == Least::kNobody) continue;
    const Status status = Call(rule.method, "");
    EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << rule.method << " " << status;
  }
}

// In-process calls come from the coordinator itself, for example from its input probe, and act as
// the owner. Calls from the network do not.
TEST_F(StrangerTest, IsNotTheCoordinatorItself) {
  v1::WhoAmIResponse who;
  const auto inside = v1::AccessService::NewStub(server_->ChannelToItself());
  EXPECT_TRUE(inside->WhoAmI(With("").get(), {}, &who).ok());
  EXPECT_EQ(who.name(), "owner");
  EXPECT_FALSE(access().WhoAmI(With("").get(), {}, &who).ok());
}

TEST_F(AccessServiceTest, AViewersTokenTriesEveryMethod) {
  const std::string viewer = MakeToken({{kEveryNamespace, Role::kViewer}});
  size_t refused = 0, of_nobody = 0;
  for (const AccessRule& rule : AccessTable()) {
    const Status status = Call(rule.method, viewer);
    const bool may = rule.least == Least::kViewer || rule.least == Least::kNobody;
    // Methods that are open to everybody do not check the caller, but the empty request fails
    // anyway.
    of_nobody += rule.least == Least::kNobody && rule.mutates ? 1 : 0;
    EXPECT_EQ(!IsRefusal(status), may) << rule.method << " " << status;
    if (may) continue;
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << rule.method << " " << status;
    ++refused;
  }
  EXPECT_GT(refused, 5u);
  auto records = AwaitRecords(refused + of_nobody);
  EXPECT_EQ(std::erase_if(records, [](const auto& record) { return record.principal == "nobody"; }),
            of_nobody);
  EXPECT_EQ(records.size(), refused);
  for (const auto& record : records) {
    EXPECT_EQ(record.outcome, "PERMISSION_DENIED");
    EXPECT_EQ(record.principal, "user alice");
  }
}

TEST_F(AccessServiceTest, ATokenIsMadeUsedAndRevoked) {
  v1::CreateTokenRequest request;
  request.set_kind("user");
  request.set_name("bob");
  (*request.mutable_roles())["research"] = "viewer";
  request.set_ttl_seconds(3600);
  const auto created = Create("", request);
  ASSERT_TRUE(created.ok()) << created.status();
  v1::WhoAmIResponse who;
  ASSERT_TRUE(access().WhoAmI(With(created->token()).get(), {}, &who).ok());
  EXPECT_EQ(who.name(), "user bob");
  EXPECT_EQ(who.roles().at("research"), "viewer");
  EXPECT_TRUE(who.has_expires_at());
  v1::RevokeTokenRequest revoke;
  revoke.set_id(created->info().id());
  v1::TokenInfo info;
  EXPECT_EQ(access().RevokeToken(With(created->token()).get(), revoke, &info).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  ASSERT_TRUE(access().RevokeToken(With("").get(), revoke, &info).ok());
  EXPECT_TRUE(info.has_revoked_at());
  EXPECT_EQ(access().WhoAmI(With(created->token()).get(), {}, &who).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  const auto records = AwaitRecords(4);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].method, "gp.v1.AccessService/CreateToken");
  EXPECT_EQ(records[0].principal, "owner");
  EXPECT_THAT(records[0].target, HasSubstr("for bob (research=viewer)"));
  EXPECT_EQ(records[1].outcome, "PERMISSION_DENIED");
  EXPECT_EQ(records[2].outcome, "OK");
  EXPECT_EQ(records[3].outcome, "UNAUTHENTICATED");
}

TEST_F(AccessServiceTest, AnOperatorOfEveryNamespaceTakesANodeOutOfUse) {
  NodeConnected hello;
  hello.node = NodeId("n1");
  hello.name = "node-a";
  hello.session = 1;
  reconciler_.Post({.body = hello});
  ASSERT_TRUE(
      Eventually([&] { return reconciler_.snapshot()->FindNode(NodeId("n1")) != nullptr; }));
  const auto nodes = v1::NodeService::NewStub(channel_);
  v1::DrainRequest drain;
  drain.set_node("node-a");
  drain.set_reason("new kernel");
  v1::Node node;
  const std::string in_one = MakeToken({{"research", Role::kOperator}});
  EXPECT_EQ(nodes->Drain(With(in_one).get(), drain, &node).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  const std::string everywhere = MakeToken({{kEveryNamespace, Role::kOperator}});
  ASSERT_TRUE(nodes->Drain(With(everywhere).get(), drain, &node).ok());
  EXPECT_EQ(node.node_id(), "n1");
  EXPECT_TRUE(node.cordon().drain());
  EXPECT_EQ(node.cordon().reason(), "new kernel");
  EXPECT_EQ(node.cordon().actor(), "user alice");
  drain.set_node("node-b");
  const Status unknown = rpc::FromGrpc(nodes->Drain(With(everywhere).get(), drain, &node));
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(unknown), HasSubstr("did you mean 'node-a'?"));
  drain.set_node("node-a");
  for (const std::string& reason : {std::string("two\nlines"), std::string(201, 'x')}) {
    drain.set_reason(reason);
    EXPECT_EQ(nodes->Drain(With(everywhere).get(), drain, &node).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
  v1::UncordonRequest uncordon;
  uncordon.set_node("n1");
  ASSERT_TRUE(nodes->Uncordon(With(everywhere).get(), uncordon, &node).ok());
  EXPECT_FALSE(node.has_cordon());
  const auto records = AwaitRecords(6);
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[1].method, "gp.v1.NodeService/Drain");
  EXPECT_EQ(records[1].target, "node node-a");
  EXPECT_EQ(records[1].outcome, "OK");
  EXPECT_EQ(records[5].method, "gp.v1.NodeService/Uncordon");
}

TEST_F(AccessServiceTest, AnAdminGivesAwayOnlyWhatIsHis) {
  const std::string admin = MakeToken({{"research", Role::kAdmin}});
  v1::CreateTokenRequest request;
  request.set_kind("user");
  request.set_name("bob");
  (*request.mutable_roles())["research"] = "admin";
  EXPECT_TRUE(Create(admin, request).ok());
  (*request.mutable_roles())["other"] = "viewer";
  EXPECT_EQ(Create(admin, request).status().code(), StatusCode::kPermissionDenied);
  request.clear_roles();
  request.set_kind("join");
  request.set_ttl_seconds(600);
  EXPECT_EQ(Create(admin, request).status().code(), StatusCode::kPermissionDenied);
  EXPECT_TRUE(Create("", request).ok());
  v1::ListTokensResponse listed;
  ASSERT_TRUE(access().ListTokens(With(admin).get(), {}, &listed).ok());
  EXPECT_EQ(listed.tokens_size(), 2) << "his own and the one that he made";
  ASSERT_TRUE(access().ListTokens(With("").get(), {}, &listed).ok());
  EXPECT_EQ(listed.tokens_size(), 3);
}

TEST_F(AccessServiceTest, RunsOfOtherNamespacesDoNotExist) {
  const std::string alice = MakeToken({{"research", Role::kSubmitter}});
  ASSERT_TRUE(Submit("", "tiny", "default").ok());
  const std::string hidden = Submit("", "large", "default").value();
  ASSERT_TRUE(Submit(alice, "tiny", "research").ok());
  EXPECT_EQ(Submit(alice, "tiny", "default").status().code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(List(alice), ElementsAre("research/tiny"));
  EXPECT_THAT(List(""), ElementsAre("research/tiny", "default/large", "default/tiny"));
  EXPECT_EQ(Get(alice, "tiny")->namespace_(), "research");
  for (const std::string& reference : {hidden, hidden.substr(0, 8), std::string("large"),
                                       std::string("default/tiny"), "default/" + hidden}) {
    const Status status = Get(alice, reference).status();
    EXPECT_EQ(status.code(), StatusCode::kNotFound) << reference << " " << status;
  }
  // The owner sees both runs of this name and must give the namespace.
  EXPECT_EQ(Get("", "tiny").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Get("", "default/tiny")->namespace_(), "default");
  // The answer to another caller's request with the same id is not revealed either.
  EXPECT_EQ(Submit(alice, "large", "default").status().code(), StatusCode::kPermissionDenied);
}

TEST_F(AccessServiceTest, OneUsersRunsDoNotFillTheQueueOfOthers) {
  const std::string alice = MakeToken({{"*", Role::kSubmitter}});
  std::vector<std::string> ids;
  for (int i = 0; i < kWaitingMax; ++i) {
    const auto id = Submit(alice, "run" + std::to_string(i), "default");
    ASSERT_TRUE(id.ok()) << id.status();
    ids.push_back(*id);
  }
  const std::string again = MakeToken({{"*", Role::kSubmitter}});
  for (const std::string& token : {alice, again}) {
    const Status refused = Submit(token, "more", "default").status();
    EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused;
    EXPECT_THAT(Message(refused), HasSubstr("user alice has 4 runs that wait for slots"));
    EXPECT_THAT(Message(refused), HasSubstr("limits.waiting_runs"));
  }
  EXPECT_TRUE(Submit("", "of the owner", "default").ok());
  EXPECT_TRUE(Submit(MakeToken({{"*", Role::kSubmitter}}, "bob"), "his", "default").ok());
  // A repeated request still gets the answer of the first one.
  EXPECT_EQ(Submit(alice, "run0", "default").value(), ids[0]);
  v1::CancelRequest cancel;
  cancel.set_request_id("enough");
  cancel.set_run(ids[0]);
  v1::Run cancelled;
  ASSERT_TRUE(runs().Cancel(With(alice).get(), cancel, &cancelled).ok());
  EXPECT_TRUE(Eventually([&] { return Submit(alice, "more", "default").ok(); }));
}

TEST_F(AccessServiceTest, SubmitsAtTheSameMomentDoNotPassTheLimit) {
  const std::string alice = MakeToken({{"*", Role::kSubmitter}});
  std::atomic<int> accepted = 0;
  (void)runs();
  {
    std::vector<std::jthread> submits;
    for (int i = 0; i < 4 * kWaitingMax; ++i) {
      submits.emplace_back([&, i] {
        if (Submit(alice, "run" + std::to_string(i), "default").ok()) ++accepted;
      });
    }
  }
  EXPECT_EQ(accepted, kWaitingMax);
}

TEST_F(AccessServiceTest, AStreamEndsWithItsToken) {
  ASSERT_TRUE(Submit("", "tiny", "default").ok());
  const std::string viewer = MakeToken({{kEveryNamespace, Role::kViewer}});
  const auto context = With(viewer);
  v1::WatchRequest request;
  request.set_run("tiny");
  const auto reader = runs().Watch(context.get(), request);
  v1::WatchResponse response;
  ASSERT_TRUE(reader->Read(&response));
  ASSERT_TRUE(tokens_->Revoke(rpc::ParseToken(viewer)->id).ok());
  while (reader->Read(&response)) {
  }
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << status.error_message();
}

class OneStreamTest : public AccessServiceTest {
 protected:
  OneStreamTest() : AccessServiceTest({.streams = 1}) {}

  // Writes more records than gRPC buffers for a client that does not read.
  void FillAuditLog() {
    constexpr int kRecords = 16'000;
    const std::string target(500, 'x');
    for (int i = 0; i < kRecords; ++i) audit_->Record({.target = target}, nullptr);
    std::promise<Status> written;
    audit_->Record({}, [&](const Status& status) { written.set_value(status); });
    const Status status = written.get_future().get();
    ASSERT_TRUE(status.ok()) << status;
  }

  // An audit stream that stays open. Null if it was refused; `why` is the reason.
  struct OpenAudit {
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientReader<v1::AuditLine>> reader;
    Status why;
  };
  OpenAudit Open(const std::string& token) {
    OpenAudit audit{.context = With(token)};
    audit.reader = access().Audit(audit.context.get(), {});
    v1::AuditLine line;
    if (audit.reader->Read(&line)) return audit;
    audit.why = rpc::FromGrpc(audit.reader->Finish());
    audit.reader.reset();
    return audit;
  }
};

TEST_F(OneStreamTest, AnAuditStreamCountsAsAStreamOfItsToken) {
  FillAuditLog();
  ASSERT_TRUE(Submit("", "tiny", "default").ok());
  const std::string alice = MakeToken({{kEveryNamespace, Role::kAdmin}});
  const std::string bob = MakeToken({{kEveryNamespace, Role::kAdmin}}, "bob");
  OpenAudit first = Open(alice);
  ASSERT_TRUE(first.reader) << first.why;
  const Status refused = Open(alice).why;
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(Message(refused), HasSubstr("streams"));
  const auto context = With(alice);
  v1::WatchRequest request;
  request.set_run("tiny");
  EXPECT_EQ(runs().Watch(context.get(), request)->Finish().error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  // The limit is per token, and the socket's owner has none.
  for (const std::string& token : {bob, std::string()}) {
    OpenAudit other = Open(token);
    ASSERT_TRUE(other.reader) << other.why;
    other.context->TryCancel();
    other.reader->Finish();
  }
  first.context->TryCancel();
  first.reader->Finish();
  EXPECT_TRUE(Eventually([&] {
    OpenAudit again = Open(alice);
    if (!again.reader) return false;
    again.context->TryCancel();
    again.reader->Finish();
    return true;
  }));
}

TEST_F(AccessServiceTest, TheAuditLogIsSentAsItIs) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Submit("", "run-" + std::to_string(i), "default").ok());
  const auto context = With("");
  v1::AuditRequest request;
  request.set_after_sequence(3);
  const auto reader = access().Audit(context.get(), request);
  formats::AuditChain chain;
  for (v1::AuditLine line; reader->Read(&line);) {
    EXPECT_TRUE(chain.Follow(line.line()).ok()) << line.line();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(chain.first(), 4u);
  EXPECT_EQ(chain.last(), 5u);
}

}  // namespace
}  // namespace gp::coordinator
