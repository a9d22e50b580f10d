// Kills a coordinator while a join token is redeemed. A process reads GP_FAILPOINT only once, so
// the parent process redeems no token until the last child has been forked.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "coordinator/access/token_store.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

// Redeems the token in a child process. Returns true if the failpoint killed the child.
bool DiesRedeeming(const std::string& failpoint, const std::string& directory,
                   const rpc::Token& token, const std::string& redeemer) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("GP_FAILPOINT", (failpoint + ":kill").c_str(), 1);
    const auto store = TokenStore::Open(directory, SystemClock());
    _exit(store.ok() && (*store)->Redeem(token, redeemer).ok() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST(TokenKill, AJoinTokenIsStillGoodForAtMostOneMachine) {
  TemporaryDirectory temporary;
  const std::string directory = JoinPath(temporary.path(), "security");
  rpc::Token token;
  {
    const auto store = TokenStore::Open(directory, SystemClock()).value();
    token = store
                ->Create({.kind = rpc::TokenKind::kJoin,
                          .name = "node",
                          .expires_at = SystemClock().WallNow() + std::chrono::hours(1),
                          .created_by = "admin"})
                .value()
                .token;
  }
  // A kill before the commit leaves the token unused; a kill after it leaves the token bound to
  // key-b.
  EXPECT_TRUE(DiesRedeeming("tokens.before_commit", directory, token, "key-a"));
  EXPECT_TRUE(DiesRedeeming("tokens.after_commit", directory, token, "key-b"));
  const auto store = TokenStore::Open(directory, SystemClock()).value();
  EXPECT_EQ(store->Redeem(token, "key-a").status().code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(store->Redeem(token, "key-c").status().code(), StatusCode::kUnauthenticated);
  EXPECT_TRUE(store->Redeem(token, "key-b").ok());
}

}  // namespace
}  // namespace gp::coordinator
