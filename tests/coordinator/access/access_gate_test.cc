#include "coordinator/access/access_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "fakes/fake_clock.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kGet[] = "gp.v1.RunService/Get";
constexpr char kSubmit[] = "gp.v1.RunService/Submit";

class AccessGateTest : public ::testing::Test {
 protected:
  AccessGateTest()
      : tokens_(TokenStore::Open(JoinPath(temporary_.path(), "security"), clock_).value()),
        audit_(AuditLog::Open(AuditDirectory(), SystemClock()).value()),
        gate_(*tokens_, *audit_, clock_, {}) {}

  std::string AuditDirectory() const { return JoinPath(temporary_.path(), "audit"); }

  rpc::Token MakeToken(const Roles& roles, std::optional<WallTime> expires_at = std::nullopt) {
    return tokens_->Create({.name = "alice", .roles = roles, .expires_at = expires_at})
        .value()
        .token;
  }

  static rpc::Caller Remote(const std::string& bearer = "") {
    return {.address = "ipv4:10.0.0.7:41022", .bearer = bearer};
  }
  static rpc::Caller With(const rpc::Token& token) { return Remote(rpc::TokenText(token)); }

  Status Try(const rpc::Caller& caller, std::string_view method) {
    return gate_.Admit(caller, method).status();
  }

  // Closes the audit log and returns its records.
  std::vector<formats::AuditRecord> Records() {
    audit_.reset();
    std::vector<formats::AuditRecord> records;
    const std::vector<std::string> names = formats::ListAuditFiles(AuditDirectory()).value();
    for (const std::string& name : names) {
      const std::string content = ReadFile(JoinPath(AuditDirectory(), name)).value();
      for (std::string_view rest = content; !rest.empty();) {
        const size_t end = rest.find('\n');
        records.push_back(formats::ParseAuditLine(rest.substr(0, end))->record);
        rest.remove_prefix(end + 1);
      }
    }
    return records;
  }

  TemporaryDirectory temporary_;
  FakeClock clock_;
  const std::unique_ptr<TokenStore> tokens_;
  std::unique_ptr<AuditLog> audit_;
  AccessGate gate_;
};

void ExpectRefused(const Status& status, StatusCode code, const std::string& words) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(gp::Message(status), HasSubstr(words));
}

TEST_F(AccessGateTest, AStrangerIsRefusedEverywhere) {
  for (const AccessRule& rule : AccessTable()) {
    if (rule.least == Least::kNobody) continue;
    ExpectRefused(Try(Remote(), rule.method), StatusCode::kUnauthenticated, "no token");
    ExpectRefused(Try(Remote("x"), rule.method), StatusCode::kUnauthenticated, "not a token");
  }
}

TEST_F(AccessGateTest, ATokenThatDoesNotCountSaysWhy) {
  const rpc::Token revoked = MakeToken(Roles::AdminEverywhere());
  ASSERT_TRUE(tokens_->Revoke(revoked.id).ok());
  const rpc::Token expired =
      MakeToken(Roles::AdminEverywhere(), clock_.WallNow() + std::chrono::hours(1));
  clock_.Advance(std::chrono::hours(1));
  const rpc::Token unknown = rpc::MakeToken(rpc::TokenKind::kUser, "");
  ExpectRefused(Try(With(revoked), kGet), StatusCode::kUnauthenticated, "revoked");
  ExpectRefused(Try(With(expired), kGet), StatusCode::kUnauthenticated, "expired");
  ExpectRefused(Try(With(unknown), kGet), StatusCode::kUnauthenticated, "unknown token");
  for (const formats::AuditRecord& record : Records()) {
    EXPECT_EQ(record.outcome, "UNAUTHENTICATED");
    EXPECT_EQ(record.principal, "nobody");
    EXPECT_EQ(record.address, "ipv4:10.0.0.7:41022");
    EXPECT_THAT(record.message, Not(HasSubstr(revoked.secret)));
  }
}

// A role allows every method that requires this role or a lower one, and no other method.
TEST_F(AccessGateTest, EachRoleOpensItsMethodsAndNoOthers) {
  const std::pair<Role, Least> roles[] = {{Role::kViewer, Least::kViewer},
                                          {Role::kSubmitter, Least::kSubmitter},
                                          {Role::kOperator, Least::kOperator},
                                          {Role::kAdmin, Least::kAdmin}};
  for (const auto& [role, least] : roles) {
    const rpc::Token token = MakeToken({{kEveryNamespace, role}});
    for (const AccessRule& rule : AccessTable()) {
      const bool may =
          rule.least == Least::kNobody || (rule.least != Least::kNode && rule.least <= least);
      const Status status = Try(With(token), rule.method);
      EXPECT_EQ(status.ok(), may) << Name(role) << " " << rule.method << " " << status;
      if (may) continue;
      EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << rule.method;
    }
  }
}

TEST_F(AccessGateTest, ARefusalNamesTheRoleAndTheWayToIt) {
  const rpc::Token token = MakeToken({{"research", Role::kViewer}});
  const Status status = Try(With(token), kSubmit);
  ExpectRefused(status, StatusCode::kPermissionDenied,
                "user alice may not call gp.v1.RunService/Submit");
  EXPECT_THAT(gp::Message(status), HasSubstr("role submitter"));
  EXPECT_THAT(gp::Message(status), HasSubstr("--role submitter --namespace "));
}

TEST_F(AccessGateTest, ARoleCountsInItsNamespace) {
  const rpc::Token token = MakeToken({{"research", Role::kSubmitter}, {"other", Role::kViewer}});
  const auto submit = gate_.Admit(With(token), kSubmit).value();
  EXPECT_TRUE(submit->Authorize("research").ok());
  ExpectRefused(submit->Authorize("other"), StatusCode::kPermissionDenied, "namespace other");
  ExpectRefused(submit->Authorize("default"), StatusCode::kPermissionDenied, "namespace default");
  const auto get = gate_.Admit(With(token), kGet).value();
  EXPECT_TRUE(get->Authorize("other").ok());
  EXPECT_EQ(get->RoleIn("default"), std::nullopt);
  // A method that concerns all namespaces requires the role in all of them.
  const rpc::Token admin = MakeToken({{"research", Role::kAdmin}});
  ExpectRefused(Try(With(admin), "gp.v1.AccessService/Audit"), StatusCode::kPermissionDenied,
                "in every namespace");
}

TEST_F(AccessGateTest, TheOwnerOfTheSocketIsAdmin) {
  const rpc::Caller owner{.address = "unix:", .is_socket_owner = true};
  for (const AccessRule& rule : AccessTable()) EXPECT_TRUE(Try(owner, rule.method).ok());
  // A caller that sends a token has the token's identity, also on the owner's socket.
  rpc::Caller viewer = With(MakeToken({{kEveryNamespace, Role::kViewer}}));
  viewer.is_socket_owner = true;
  EXPECT_EQ(Try(viewer, kSubmit).code(), StatusCode::kPermissionDenied);
}

TEST_F(AccessGateTest, APlainNetworkIsClosedUnlessItIsOpenedOnPurpose) {
  rpc::Caller plain = Remote();
  plain.is_plain_network = true;
  EXPECT_EQ(Try(plain, kGet).code(), StatusCode::kUnauthenticated);
  AccessGate open(*tokens_, *audit_, clock_, {.plain_network_is_admin = true});
  EXPECT_TRUE(open.Admit(plain, kSubmit).ok());
  plain.bearer = rpc::TokenText(MakeToken(Roles::AdminEverywhere()));
  ExpectRefused(open.Admit(plain, kSubmit).status(), StatusCode::kUnauthenticated, "revoke it");
}

TEST_F(AccessGateTest, ANodeIsNoUserAndAUserIsNoNode) {
  rpc::Caller node = Remote();
  node.node_id = "n1";
  for (const AccessRule& rule : AccessTable()) {
    const bool may = rule.least == Least::kNode || rule.least == Least::kNobody;
    EXPECT_EQ(Try(node, rule.method).ok(), may) << rule.method;
  }
  const rpc::Token admin = MakeToken(Roles::AdminEverywhere());
  EXPECT_EQ(Try(With(admin), "gp.v1.AgentService/Connect").code(), StatusCode::kPermissionDenied);
}

TEST_F(AccessGateTest, AMethodWithoutARowIsRefused) {
  const rpc::Caller owner{.address = "unix:", .is_socket_owner = true};
  EXPECT_EQ(Try(owner, "gp.v1.RunService/Delete").code(), StatusCode::kPermissionDenied);
}

TEST_F(AccessGateTest, ACallEndsWithItsToken) {
  const rpc::Token token = MakeToken({{kEveryNamespace, Role::kViewer}});
  const auto call = gate_.Admit(With(token), kGet).value();
  EXPECT_TRUE(call->Check().ok());
  ASSERT_TRUE(tokens_->Revoke(token.id).ok());
  ExpectRefused(call->Check(), StatusCode::kUnauthenticated, "revoked");
}

TEST_F(AccessGateTest, AChangeIsAnsweredOnceItsRecordIsDurable) {
  const rpc::Token token = MakeToken({{kEveryNamespace, Role::kSubmitter}});
  const auto call = gate_.Admit(With(token), kSubmit).value();
  call->Describe("default/tiny", "request-1");
  std::promise<Status> answered;
  call->Conclude(OkStatus(), [&](const Status& status) { answered.set_value(status); });
  EXPECT_TRUE(answered.get_future().get().ok());
  const auto records = Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].principal, "user alice");
  EXPECT_EQ(records[0].token, token.id);
  EXPECT_EQ(records[0].target, "default/tiny");
  EXPECT_EQ(records[0].request_id, "request-1");
  EXPECT_EQ(records[0].outcome, "OK");
}

TEST_F(AccessGateTest, ARefusalIsRecordedOnce) {
  const rpc::Token token = MakeToken({{"research", Role::kSubmitter}});
  const auto call = gate_.Admit(With(token), kSubmit).value();
  call->Describe("default/tiny");
  Status answered;
  call->Conclude(call->Authorize("default"), [&](const Status& status) { answered = status; });
  EXPECT_EQ(answered.code(), StatusCode::kPermissionDenied);
  const auto records = Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].outcome, "PERMISSION_DENIED");
  EXPECT_EQ(records[0].target, "default/tiny");
}

TEST_F(AccessGateTest, NothingIsChangedWhileTheAuditLogCannotBeWritten) {
  audit_.reset();
  ASSERT_TRUE(RemoveTree(AuditDirectory()).ok());
  auto broken = AuditLog::Open(AuditDirectory(), SystemClock(), {.file_bytes_max = 0}).value();
  AccessGate gate(*tokens_, *broken, clock_, {});
  const rpc::Caller owner{.address = "unix:", .is_socket_owner = true};
  const auto call = gate.Admit(owner, kSubmit).value();
  ASSERT_TRUE(RemoveTree(AuditDirectory()).ok());
  std::promise<Status> answered;
  call->Conclude(OkStatus(), [&](const Status& status) { answered.set_value(status); });
  ExpectRefused(answered.get_future().get(), StatusCode::kInternal, "audit log");
  EXPECT_EQ(gate.Admit(owner, kSubmit).status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(gate.Admit(owner, kGet).ok());
  EXPECT_TRUE(gate.Admit(owner, "gp.v1.AgentService/Connect").ok());
  ASSERT_TRUE(MakeDirectories(AuditDirectory(), 0700).ok());
  EXPECT_TRUE(Eventually([&] { return gate.Admit(owner, kSubmit).ok(); }));
}

}  // namespace
}  // namespace gp::coordinator
