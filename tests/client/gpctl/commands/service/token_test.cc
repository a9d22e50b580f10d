// gpctl's commands for tokens, contexts and the audit log against a real coordinator: its owner
// through the socket, others over TCP with TLS.
#include "rpc/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/gpctl/gpctl_runner.h"
#include "coordinator/coordinator_process.h"
#include "lib/base/temporary_directory.h"

namespace gp::gpctl {
namespace {

using coordinator::CoordinatorProcess;
using testing::GpctlRunner;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using Json = nlohmann::json;

class AccessCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    process_.SetFlags({"--listen", "127.0.0.1:0"});
    process_.Start();
    const Json addresses = Json::parse(ReadFile(JoinPath(directory_.path(), "address")).value());
    listen_ = addresses.at("listen");
    owner_.environment["GPCTL_SERVER"] = process_.address();
  }

  // Runs gpctl as the owner, through the socket.
  Outcome Own(const std::vector<std::string>& words) { return owner_.Run(words); }
  // Runs gpctl as a user on another machine, with only the files that 'gpctl login' wrote there.
  Outcome User(const std::vector<std::string>& words) { return user_.Run(words); }

  std::string MakeToken(const std::string& role) {
    const std::string path = JoinPath(directory_.path(), role + ".token");
    const Outcome made = Own({"token", "create", "--name", "alice", "--role", role, "--out", path});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out + made.err, Not(HasSubstr("gp_user_")));
    return path;
  }

  Outcome Login(const std::string& token_file) {
    return User({"login", listen_, "--token-file", token_file});
  }

  TemporaryDirectory directory_;
  CoordinatorProcess process_{directory_.path()};
  std::string listen_;
  GpctlRunner owner_;
  GpctlRunner user_;
};

TEST_F(AccessCommandTest, TheOwnerNeedsNoToken) {
  const Outcome who = Own({"whoami"});
  EXPECT_EQ(who.out, "owner: admin in every namespace\n") << who.err;
}

TEST_F(AccessCommandTest, TheFirstAdminLogsInWithTheTokenAlone) {
  const std::string token_file = JoinPath(process_.state_dir(), "security/admin.token");
  const Outcome login = Login(token_file);
  ASSERT_EQ(login.code, 0) << login.err;
  EXPECT_THAT(login.out, HasSubstr("user admin: admin in every namespace"));
  EXPECT_EQ(User({"list"}).code, 0);
  const Outcome made = User({"token", "create", "--join", "--ttl", "5m"});
  EXPECT_THAT(made.out, ::testing::StartsWith("gp_join_")) << made.err;
  const std::string token = rpc::TokenText(rpc::ReadTokenFile(token_file).value());
  const Outcome shown = User({"context", "show"});
  EXPECT_THAT(shown.out, HasSubstr(listen_));
  EXPECT_THAT(shown.out, Not(HasSubstr(token)));
}

TEST_F(AccessCommandTest, TheDoctorSaysWhatIsEncrypted) {
  ASSERT_EQ(Login(MakeToken("viewer")).code, 0);
  EXPECT_THAT(User({"doctor"}).out, HasSubstr("ok    connection      TLS 1.3 to " + listen_));
  EXPECT_THAT(Own({"doctor"}).out, HasSubstr("ok    connection      Unix socket"));
  EXPECT_THAT(Own({"doctor"}).out, HasSubstr("ok    gradients       not encrypted between nodes"));
  process_.Kill();
  const std::string settings = JoinPath(directory_.path(), "settings.yaml");
  ASSERT_TRUE(WriteFileAtomically(settings, "gradients: {encrypted: true}\n").ok());
  process_.SetFlags({"--listen", "127.0.0.1:0", "--config", settings});
  process_.Start();
  EXPECT_THAT(Own({"doctor"}).out, HasSubstr("ok    gradients       encrypted between nodes"));
}

TEST_F(AccessCommandTest, WhoReachesAPortWithoutTlsIsToldOfItAlsoOverTheSocket) {
  EXPECT_THAT(Own({"list"}).err, Not(HasSubstr("--insecure")));
  process_.Kill();
  process_.SetFlags({"--listen", "127.0.0.1:0", "--insecure"});
  process_.Start();
  EXPECT_THAT(Own({"list"}).err, HasSubstr("serves a port without TLS (--insecure)"));
  EXPECT_THAT(Own({"doctor"}).out, HasSubstr("-> start it without --insecure"));
}

TEST_F(AccessCommandTest, AJoinTokenMayLetSeveralMachinesIn) {
  const Outcome made =
      Own({"token", "create", "--join", "--name", "pods", "--uses", "4", "--ttl", "1h"});
  EXPECT_THAT(made.out, ::testing::StartsWith("gp_join_")) << made.err;
  EXPECT_THAT(Own({"token", "list"}).out, HasSubstr("joins 4 nodes, 0 joined"));
  EXPECT_THAT(Own({"audit", "list"}).out, HasSubstr("for pods (uses=4)"));
  const Outcome many = Own({"token", "create", "--join", "--uses", "5000"});
  EXPECT_THAT(many.err, HasSubstr("--uses: Value 5000 not in range 1 to 1000"));
  EXPECT_THAT(many.err, HasSubstr("See 'gpctl help token create'."));
  EXPECT_EQ(Own({"help", "token", "create"}).code, 0);
  const Outcome user = Own({"token", "create", "--name", "bob", "--role", "viewer", "--uses", "2"});
  EXPECT_THAT(user.err, HasSubstr("--uses needs --join"));
}

TEST_F(AccessCommandTest, ATokenThatCannotBeWrittenIsTakenBack) {
  const Outcome made = Own({"token", "create", "--name", "ci", "--role", "viewer", "--out",
                            JoinPath(directory_.path(), "no/such/directory/ci.token")});
  EXPECT_EQ(made.code, 3);
  EXPECT_THAT(made.err, HasSubstr("was revoked again"));
  EXPECT_THAT(Own({"token", "list"}).out, ::testing::ContainsRegex("user +ci +revoked"));
}

TEST_F(AccessCommandTest, ATokenThatCannotBeShownIsTakenBack) {
  for (const char* format : {"text", "json"}) {
    for (const int error : {ENOSPC, EPIPE}) {
      owner_.output_error = error;
      const Outcome outcome =
          Own({"token", "create", "--name", "bob", "--role", "viewer", "-o", format});
      owner_.output_error = 0;
      EXPECT_EQ(outcome.code, 1);
      EXPECT_THAT(outcome.err, HasSubstr("was revoked again"));
      EXPECT_THAT(outcome.err, Not(HasSubstr("gp_user_")));
    }
  }
  const Json listed = Json::parse(Own({"token", "list", "-o", "json"}).out);
  int made = 0;
  for (const Json& token : listed.at("items")) {
    if (token.at("name") != "bob") continue;
    ++made;
    EXPECT_TRUE(token.contains("revoked_at")) << token;
  }
  EXPECT_EQ(made, 4);
}

// What a new user may try first.
TEST_F(AccessCommandTest, WhoCallsWithoutTlsIsToldToLogIn) {
  const Outcome called = User({"--server", listen_, "--timeout", "1s", "list"});
  EXPECT_EQ(called.code, 6);
  EXPECT_THAT(called.err, HasSubstr("'gpctl login " + listen_ + " --token-file FILE'"));
  user_.environment["GPCTL_TOKEN_FILE"] = MakeToken("viewer");
  const Outcome with_token = User({"--server", listen_, "list"});
  EXPECT_EQ(with_token.code, 2);
  EXPECT_THAT(with_token.err, HasSubstr("the token is not sent"));
}

TEST_F(AccessCommandTest, LoginSaysAtOnceWhatIsWrongWithTheAuthority) {
  const std::string token_file = MakeToken("viewer");
  const std::string words = JoinPath(directory_.path(), "words.crt");
  ASSERT_TRUE(WriteFileAtomically(words, "hello\n").ok());
  const Outcome no_certificate =
      User({"login", listen_, "--token-file", token_file, "--ca", words});
  EXPECT_EQ(no_certificate.code, 2);
  EXPECT_THAT(no_certificate.err, HasSubstr("--ca " + words));
  const Outcome short_digest =
      User({"login", listen_, "--token-file", token_file, "--ca-digest", "abc"});
  EXPECT_EQ(short_digest.code, 2);
  EXPECT_THAT(short_digest.err, HasSubstr("expected 64 hexadecimal digits"));
}

TEST_F(AccessCommandTest, WithoutAContextEachMessageSaysHowToGetOne) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"list"}, {"context", "show"}, {"context", "list"}, {"context", "use", "other"}}) {
    EXPECT_THAT(User(words).err, HasSubstr("login HOST:PORT --token-file FILE'")) << words[0];
  }
}

TEST_F(AccessCommandTest, ARefusalNamesTheTokenThatAnAdminMakes) {
  ASSERT_EQ(Login(MakeToken("viewer")).code, 0);
  EXPECT_THAT(User({"workers", "cordon", "n"}).err,
              HasSubstr("gpctl token create --name alice --role operator --namespace '*'\n"));
  EXPECT_EQ(
      Own({"token", "create", "--name", "alice", "--role", "operator", "--namespace", "*"}).code,
      0);
}

TEST_F(AccessCommandTest, AViewerLooksAndChangesNothing) {
  ASSERT_EQ(Login(MakeToken("viewer")).code, 0);
  EXPECT_EQ(User({"list"}).code, 0);
  EXPECT_EQ(User({"workers", "list"}).code, 0);
  const Outcome refused = User({"token", "create", "--name", "bob", "--role", "viewer"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("it needs the role admin"));
  EXPECT_EQ(User({"token", "list"}).code, 4);
  EXPECT_EQ(User({"audit", "list"}).code, 4);
}

TEST_F(AccessCommandTest, ARevokedTokenOpensNothing) {
  const std::string path = MakeToken("viewer");
  ASSERT_EQ(Login(path).code, 0);
  const std::string id = rpc::ReadTokenFile(path)->id;
  EXPECT_THAT(Own({"token", "list"}).out, HasSubstr(id));
  EXPECT_EQ(Own({"token", "revoke", id}).code, 0);
  const Outcome refused = User({"list"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("revoked"));
}

TEST_F(AccessCommandTest, LoginTrustsNobodyElse) {
  rpc::Token token = rpc::ReadTokenFile(MakeToken("viewer")).value();
  const auto login = [&] {
    const std::string path = JoinPath(directory_.path(), "changed.token");
    EXPECT_TRUE(WriteFileAtomically(path, rpc::TokenText(token) + "\n", 0600).ok());
    return Login(path);
  };
  const std::string digest = std::exchange(token.ca_digest, std::string(64, 'a'));
  EXPECT_EQ(login().code, 4) << "another authority";
  token.ca_digest = "";
  const Outcome unknown = login();
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--ca-digest"));
  token.ca_digest = digest;
  token.secret = std::string(64, '0');
  EXPECT_EQ(login().code, 4) << "a wrong secret";
  EXPECT_EQ(User({"context", "list", "-o", "json"}).code, 0);
  EXPECT_THAT(User({"context", "list"}).out, Not(HasSubstr(listen_)));
}

TEST_F(AccessCommandTest, NoTokenGoesOverAPlainConnection) {
  user_.environment["GPCTL_TOKEN_FILE"] = MakeToken("viewer");
  const Outcome refused = User({"list", "--server", listen_});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("the token is not sent"));
}

TEST_F(AccessCommandTest, AFileThatOthersReadIsNoToken) {
  const std::string path = MakeToken("viewer");
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  const Outcome refused = Login(path);
  EXPECT_EQ(refused.code, 4) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr(path));
}

TEST_F(AccessCommandTest, TheAuditLogIsShownCheckedAndCopied) {
  ASSERT_EQ(Login(MakeToken("viewer")).code, 0);
  ASSERT_EQ(User({"audit", "list"}).code, 4);
  const std::string directory = JoinPath(process_.state_dir(), "audit");
  EXPECT_THAT(Own({"audit", "list"}).out, HasSubstr("CreateToken"));
  EXPECT_THAT(Own({"audit", "verify"}).out, HasSubstr("intact: records 1 to"));
  const Outcome copy = Own({"audit", "export"});
  EXPECT_THAT(copy.out, ::testing::StartsWith("{\"sequence\":1,"));
  ASSERT_EQ(process_.Terminate(), 0);
  EXPECT_EQ(Own({"audit", "verify", directory}).code, 0);
  const std::string name = JoinPath(directory, "audit-00000000000000000001.jsonl");
  std::string content = ReadFile(name).value();
  content[content.find("alice")] = 'A';
  ASSERT_TRUE(WriteFileAtomically(name, content, 0600).ok());
  const Outcome damaged = Own({"audit", "verify", directory});
  EXPECT_EQ(damaged.code, 9);
  EXPECT_THAT(damaged.err, HasSubstr(name + ":1"));
}

TEST_F(AccessCommandTest, ALogThatWasReplacedDoesNotHaveTheHashThatWasNoted) {
  MakeToken("viewer");
  const std::string noted = Json::parse(Own({"audit", "verify", "-o", "json"}).out)["hash"];
  MakeToken("submitter");
  const Outcome later = Own({"audit", "verify", "--expect", noted});
  EXPECT_EQ(later.code, 0) << later.err;
  EXPECT_THAT(later.out, HasSubstr("the expected hash is that of record "));
  EXPECT_EQ(Own({"audit", "verify", "--expect", "abc"}).code, 2);
  ASSERT_EQ(process_.Terminate(), 0);
  const std::string directory = JoinPath(process_.state_dir(), "audit");
  EXPECT_EQ(Own({"audit", "verify", directory, "--expect", noted}).code, 0);
  // If the log is removed, the next start begins a new one, which is intact.
  ASSERT_TRUE(RemoveTree(directory).ok());
  process_.Start();
  MakeToken("operator");
  EXPECT_EQ(Own({"audit", "verify"}).code, 0);
  const Outcome replaced = Own({"audit", "verify", "--expect", noted});
  EXPECT_EQ(replaced.code, 9);
  EXPECT_THAT(replaced.err, HasSubstr("the log was replaced since the hash was noted"));
}

TEST_F(AccessCommandTest, ContextsAreChosenAndForgotten) {
  ASSERT_EQ(Login(MakeToken("viewer")).code, 0);
  const std::string kept = user_.home() + "/.config/gpctl/" + listen_ + ".token";
  struct stat status {};
  ASSERT_EQ(stat(kept.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(User({"context", "use", listen_, "--namespace", "research"}).code, 0);
  EXPECT_THAT(User({"context", "list"}).out, HasSubstr("research"));
  EXPECT_EQ(User({"context", "use", "nowhere"}).code, 3);
  EXPECT_EQ(User({"context", "delete", listen_}).code, 0);
  EXPECT_FALSE(FileExists(kept));
  EXPECT_NE(User({"list"}).code, 0);
}

}  // namespace
}  // namespace gp::gpctl
