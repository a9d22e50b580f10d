#include "coordinator/coordinator_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/random_id.h"
#include "lib/base/eventually.h"
#include "lib/rpc/connected_channel.h"

extern char** environ;

namespace gp::coordinator {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

CoordinatorProcess::CoordinatorProcess(std::string directory, std::vector<std::string> environment)
    : directory_(std::move(directory)), environment_(std::move(environment)) {}

CoordinatorProcess::~CoordinatorProcess() {
  if (pid_ > 0) Kill();
}

std::string CoordinatorProcess::state_dir() const { return JoinPath(directory_, "state"); }
std::string CoordinatorProcess::storage_root() const { return JoinPath(directory_, "storage"); }

pid_t CoordinatorProcess::Spawn(const std::string& error_path) const {
  const char* bin = std::getenv("GP_BIN");
  EXPECT_NE(bin, nullptr) << "GP_BIN names the directory of the programs";
  const std::string program = JoinPath(bin == nullptr ? "." : bin, "gp-coordinator");
  std::vector<std::string> arguments = {
      program,          "--state-dir",    state_dir(),
      "--storage-root", storage_root(),   "--metrics-listen",
      "127.0.0.1:0",    "--address-file", JoinPath(directory_, "address")};
  arguments.insert(arguments.end(), flags_.begin(), flags_.end());
  std::vector<std::string> environment = environment_;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, error_path.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0644);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << program;
  return pid;
}

void CoordinatorProcess::Start() {
  const std::string file = JoinPath(directory_, "address");
  ASSERT_TRUE(RemoveTree(file).ok());
  const std::string log = JoinPath(directory_, "coordinator.log");
  pid_ = Spawn(log);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!FileExists(file)) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << *ReadFile(log);
    ASSERT_EQ(waitpid(pid_, nullptr, WNOHANG), 0) << *ReadFile(log);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  address_ = nlohmann::json::parse(*ReadFile(file)).at("address");
}

void CoordinatorProcess::Kill() {
  kill(pid_, SIGKILL);
  WaitFor(pid_);
  pid_ = -1;
}

int CoordinatorProcess::Terminate() {
  kill(pid_, SIGTERM);
  return WaitForEnd();
}

int CoordinatorProcess::WaitForEnd() {
  const int code = WaitFor(pid_);
  pid_ = -1;
  return code;
}

int CoordinatorProcess::RunToEnd(std::string& error_output) {
  const std::string path = JoinPath(directory_, "failed-" + RandomId(6) + ".log");
  const int code = WaitFor(Spawn(path));
  error_output = *ReadFile(path);
  return code;
}

std::unique_ptr<v1::RunService::Stub> CoordinatorProcess::NewStub() const {
  return v1::RunService::NewStub(rpc::ConnectedChannel(address_));
}

}  // namespace gp::coordinator
