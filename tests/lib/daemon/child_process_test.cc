#include "daemon/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>

#include "base/file.h"

namespace gp::daemon {
namespace {

// The content of a pipe whose writers have ended.
std::string ReadAll(Pipe& pipe) {
  pipe.write.Close();
  std::string all;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 1; got > 0;) {
    got = read(pipe.read.get(), buffer.data(), buffer.size());
    if (got > 0) all.append(buffer.data(), static_cast<size_t>(got));
  }
  return all;
}

// The output of a shell started with the options of `child` that runs `script`.
std::string OutputOf(const std::string& script, ChildProgram child = {}) {
  Pipe output = MakePipe().value();
  child.program = "/bin/sh";
  child.arguments.insert(child.arguments.begin(), {"-c", script});
  child.output = output.write.get();
  const auto pid = StartChild(child);
  EXPECT_TRUE(pid.ok()) << pid.status();
  if (!pid.ok()) return "";
  const std::string text = ReadAll(output);
  EXPECT_EQ(AwaitExit(*pid), 0) << script;
  return text;
}

// A field of /proc/self/status, read by the child program itself.
std::string StatusField(const std::string& name, const ChildProgram& child) {
  std::istringstream lines(OutputOf("exec cat /proc/self/status", child));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ":"))
      return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  }
  return "";
}

bool Ignores(int number, ChildGroup group) {
  const std::string mask = StatusField("SigIgn", {.group = group});
  return (std::stoull(mask, nullptr, 16) >> (number - 1) & 1) != 0;
}

TEST(StartChild, RunsTheProgramWithItsArgumentsAndNoInput) {
  EXPECT_EQ(OutputOf("echo \"$0 $1\"; cat", {.arguments = {"first", "two words"}}),
            "first two words\n");
}

// While the object lives, this process can use at most `count` file descriptors.
class FewOpenFiles {
 public:
  explicit FewOpenFiles(rlim_t count) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{count, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewOpenFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(StartChild, FewFileDescriptorsAreEnoughOrTheErrorSaysSo) {
  {
    const FewOpenFiles few(64);
    EXPECT_EQ(OutputOf("echo started"), "started\n");
  }
  // StartChild uses a pipe and /dev/null, which leaves two free descriptors; the child needs one
  // for each of the four that it gets. A sanitizer uses two more to inspect memory.
  const FileDescriptor next(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const FewOpenFiles few(static_cast<rlim_t>(next.get()) + 6);
  const auto started =
      StartChild({.program = "/bin/true", .descriptors = std::vector<int>(4, next.get())});
  ASSERT_FALSE(started.ok());
  EXPECT_NE(Message(started.status()).find("Too many open files"), std::string::npos)
      << started.status();
}

TEST(StartChild, TheExitStatusIsTheChilds) {
  const auto code = StartChild({.program = "/bin/sh", .arguments = {"-c", "exit 7"}});
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(WEXITSTATUS(AwaitExit(*code)), 7);
  const auto killed = StartChild({.program = "/bin/sh", .arguments = {"-c", "kill -9 $$"}});
  ASSERT_TRUE(killed.ok());
  EXPECT_EQ(WTERMSIG(AwaitExit(*killed)), SIGKILL);
}

TEST(StartChild, AProgramThatCannotBeStartedIsNamedAndLeavesNoProcess) {
  const auto missing = StartChild({.program = "/nonexistent/program"});
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_NE(Message(missing.status()).find("/nonexistent/program"), std::string::npos);
  EXPECT_EQ(StartChild({.program = "/etc/passwd"}).status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(StartChild, TheEnvironmentIsTheNamedOneOrThisOne) {
  ASSERT_EQ(setenv("GP_CHILD_TEST", "here", 1), 0);
  EXPECT_EQ(OutputOf("echo \"$GP_CHILD_TEST\""), "here\n");
  EXPECT_EQ(OutputOf("echo \"$GP_CHILD_TEST$OTHER\"",
                     {.environment = std::vector<std::string>{"OTHER=there"}}),
            "there\n");
  EXPECT_EQ(OutputOf("echo \"$GP_CHILD_TEST\"", {.environment = std::vector<std::string>()}), "\n");
}

TEST(StartChild, OnlyTheNamedDescriptorsAreOpen) {
  const FileDescriptor leaked(open("/dev/null", O_RDONLY));  // not closed at exec
  Pipe first = MakePipe().value(), second = MakePipe().value();
  ASSERT_TRUE(leaked.valid());
  const std::string open_ones =
      "n=3; while [ $n -lt 200 ]; do [ -e /proc/$$/fd/$n ] && echo $n; n=$((n+1)); done; true";
  EXPECT_EQ(OutputOf(open_ones), "");
  EXPECT_EQ(OutputOf("echo one >&3; echo two >&4",
                     {.descriptors = {first.write.get(), second.write.get()}}),
            "");
  EXPECT_EQ(ReadAll(first), "one\n");
  EXPECT_EQ(ReadAll(second), "two\n");
}

TEST(StartChild, DescriptorsMayHaveTheNumbersOfEachOther) {
  Pipe first = MakePipe().value(), second = MakePipe().value();
  // Which descriptor the child gets as 3 or 4 depends on the order of the list, not on the numbers
  // here.
  const std::vector<int> swapped = {second.write.get(), first.write.get()};
  OutputOf("echo one >&3; echo two >&4", {.descriptors = swapped});
  EXPECT_EQ(ReadAll(first), "two\n");
  EXPECT_EQ(ReadAll(second), "one\n");
}

TEST(StartChild, ErrorsGoWhereTheyAreSent) {
  Pipe errors = MakePipe().value();
  EXPECT_EQ(OutputOf("echo out; echo err >&2", {.error = errors.write.get()}), "out\n");
  EXPECT_EQ(ReadAll(errors), "err\n");
}

TEST(StartChild, SignalsAreNeitherBlockedNorIgnored) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto pipe_before = signal(SIGPIPE, SIG_IGN);
  const auto interrupt_before = signal(SIGINT, SIG_IGN);
  EXPECT_EQ(StatusField("SigBlk", {}), "0000000000000000");
  EXPECT_FALSE(Ignores(SIGPIPE, ChildGroup::kSame));
  EXPECT_FALSE(Ignores(SIGPIPE, ChildGroup::kGroup));
  EXPECT_FALSE(Ignores(SIGINT, ChildGroup::kGroup));
  EXPECT_FALSE(Ignores(SIGINT, ChildGroup::kSession));
  EXPECT_TRUE(Ignores(SIGINT, ChildGroup::kSame)) << "a shell that told us so told the child too";
  signal(SIGINT, interrupt_before);
  signal(SIGPIPE, pipe_before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Process id, process group and session of the shell.
std::array<pid_t, 3> GroupsOf(ChildGroup group) {
  std::istringstream text(
      OutputOf("echo $$; exec cut -d' ' -f5,6 /proc/self/stat", {.group = group}));
  std::array<pid_t, 3> ids{};
  text >> ids[0] >> ids[1] >> ids[2];
  return ids;
}

TEST(StartChild, IsInTheGroupOrSessionThatWasAskedFor) {
  const auto same = GroupsOf(ChildGroup::kSame);
  EXPECT_EQ(same[1], getpgrp());
  EXPECT_EQ(same[2], getsid(0));
  const auto group = GroupsOf(ChildGroup::kGroup);
  EXPECT_EQ(group[1], group[0]);
  EXPECT_EQ(group[2], getsid(0));
  const auto session = GroupsOf(ChildGroup::kSession);
  EXPECT_EQ(session[1], session[0]);
  EXPECT_EQ(session[2], session[0]);
}

TEST(StartChild, AConfinedChildGainsNoPrivilegesAndDumpsNoCore) {
  EXPECT_EQ(StatusField("NoNewPrivs", {.confined = true}), "1");
  EXPECT_EQ(OutputOf("ulimit -c", {.confined = true}), "0\n");
}

TEST(StartChild, RunsOnTheNamedCores) {
  cpu_set_t here;
  ASSERT_EQ(sched_getaffinity(0, sizeof here, &here), 0);
  int core = 0;
  while (!CPU_ISSET(static_cast<size_t>(core), &here)) ++core;
  EXPECT_EQ(StatusField("Cpus_allowed_list", {.cores = {core}}), std::to_string(core));
}

TEST(StartChild, AConfinedChildMayOpenManyFilesAndNotEndlessly) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlim_t expected = std::min<rlim_t>(files.rlim_max, 65536);
  EXPECT_EQ(OutputOf("ulimit -Sn; ulimit -Hn", {.confined = true}),
            fmt::format("{0}\n{0}\n", expected));
}

TEST(StartChild, AnAccountIsTheUserTheGroupAndNoOtherGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "only root starts programs as another user";
  const auto nobody = FindAccount("nobody");
  ASSERT_TRUE(nobody.ok()) << nobody.status();
  const ChildProgram program{.confined = true, .account = *nobody};
  EXPECT_EQ(OutputOf("id -ru; id -u; id -G", program),
            fmt::format("{0}\n{0}\n{1}\n", nobody->user, nobody->group));
  EXPECT_EQ(StatusField("CapEff", program), "0000000000000000");
}

TEST(FindAccount, AUserThatDoesNotExistIsNamed) {
  const Status status = FindAccount("gp-no-such-user").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(Message(status).find("no user 'gp-no-such-user'"), std::string::npos) << status;
}

}  // namespace
}  // namespace gp::daemon
