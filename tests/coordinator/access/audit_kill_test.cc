// Kills a coordinator while it writes its audit log: no acknowledged record is lost.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <future>

#include "coordinator/access/audit_log.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

// Writes records one by one in a child process, which dies at the failpoint. The file
// `acknowledged` grows by one byte for each durable record.
void WriteUntilKilled(const std::string& failpoint, const std::string& directory,
                      const std::string& acknowledged) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("GP_FAILPOINT", failpoint.c_str(), 1);
    const auto log = AuditLog::Open(directory, SystemClock());
    auto told = AppendFile::Open(acknowledged);
    if (!log.ok() || !told.ok()) _exit(1);
    // Wait for each record before writing the next, so that every record causes a sync of its own.
    for (int i = 0; i < 100; ++i) {
      std::promise<void> durable;
      (*log)->Record({.method = "m", .outcome = "OK"}, [&](const Status&) {
        (void)told->Append(".");
        durable.set_value();
      });
      durable.get_future().wait();
    }
    _exit(2);  // the failpoint was not reached
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << failpoint;
}

TEST(AuditKill, LosesNoRecordThatWasAcknowledged) {
  TemporaryDirectory temporary;
  const std::string directory = JoinPath(temporary.path(), "audit");
  const std::string acknowledged = JoinPath(temporary.path(), "acknowledged");
  for (const char* failpoint :
       {"audit.before_sync:kill", "audit.after_head:kill", "audit.before_sync:kill@2"}) {
    WriteUntilKilled(failpoint, directory, acknowledged);
    const auto summary = formats::VerifyAuditDirectory(directory);
    ASSERT_TRUE(summary.ok()) << summary.status();
    EXPECT_GE(summary->count, FileSize(acknowledged).value_or(0));
  }
  EXPECT_TRUE(AuditLog::Open(directory, SystemClock()).ok());
  EXPECT_TRUE(formats::VerifyAuditDirectory(directory).ok());
}

}  // namespace
}  // namespace gp::coordinator
