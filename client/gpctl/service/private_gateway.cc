#include "client/gpctl/service/private_gateway.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "daemon/child_process.h"

namespace gp::gpctl {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGatewayPoll{20};

StatusOr<std::string> MakeScratchDirectory() {
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  std::string pattern = ((error ? "/tmp" : parent) / "gpctl-gateway-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return ErrnoStatus(errno, "make", pattern);
  return pattern;
}

}  // namespace

StatusOr<std::unique_ptr<PrivateGateway>> PrivateGateway::Start(
    const PrivateGatewayOptions& options, client::Interruption& interruption) {
  std::unique_ptr<PrivateGateway> gateway(new PrivateGateway(options));
  ASSIGN_OR_RETURN(gateway->scratch_, MakeScratchDirectory());
  RETURN_IF_ERROR(gateway->Spawn());
  RETURN_IF_ERROR(gateway->AwaitAddress(interruption));
  return gateway;
}

PrivateGateway::~PrivateGateway() {
  Stop();
  if (!scratch_.empty()) (void)RemoveTree(scratch_);
}

Status PrivateGateway::Spawn() {
  std::vector<std::string> arguments = {
      "--listen",         options_.listen,
      "--metrics-listen", "127.0.0.1:0",
      "--model",          options_.model + "=" + options_.directory,
      "--address-file",   JoinPath(scratch_, "address")};
  if (options_.insecure) arguments.push_back("--insecure");
  if (!options_.precision.empty()) {
    arguments.insert(arguments.end(), {"--precision", options_.precision});
  }
  if (options_.threads > 0) {
    arguments.insert(arguments.end(), {"--threads", fmt::format("{}", options_.threads)});
  }
  FileDescriptor log;
  if (options_.quiet) {
    log = FileDescriptor(
        open(JoinPath(scratch_, "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  }
  // The gateway has its own process group, so that only gpctl receives Ctrl-C. It is `confined`, so
  // it ends when gpctl ends or is killed.
  ASSIGN_OR_RETURN(pid_, daemon::StartChild({.program = options_.program,
                                             .arguments = arguments,
                                             .output = log.get(),
                                             .error = log.get(),
                                             .group = daemon::ChildGroup::kGroup,
                                             .confined = true}));
  return OkStatus();
}

Status PrivateGateway::AwaitAddress(client::Interruption& interruption) {
  const auto deadline = steady_clock::now() + options_.start_timeout;
  while (steady_clock::now() < deadline) {
    const auto text = ReadFile(JoinPath(scratch_, "address"), 1 << 16);
    const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
    if (json.is_object()) {
      address_ = json.value("address", "");
      return OkStatus();
    }
    if (HasEnded()) return Internal("gp-gateway exited at startup{}", LastWords());
    if (interruption.WaitFor(kGatewayPoll)) return Cancelled("interrupted");
  }
  return DeadlineExceeded("gp-gateway runs but does not serve after {} s{}",
                          options_.start_timeout.count() / 1000, LastWords());
}

// The end of the gateway's log, for an error message. Empty unless `quiet`: otherwise the gateway
// writes to stderr.
std::string PrivateGateway::LastWords() const {
  constexpr size_t kBytes = 600;
  std::string words = ReadFile(JoinPath(scratch_, "log")).value_or("");
  if (words.size() > kBytes) words.erase(0, words.size() - kBytes);
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return words.empty() ? "" : ":\n" + words;
}

bool PrivateGateway::HasEnded() {
  if (pid_ != 0 && waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = 0;
  return pid_ == 0;
}

Status PrivateGateway::Await(client::Interruption& interruption) {
  while (!interruption.WaitFor(5 * kGatewayPoll)) {
    if (HasEnded()) return Internal("gp-gateway ended{}", LastWords());
  }
  return OkStatus();
}

void PrivateGateway::Stop() {
  if (HasEnded()) return;
  kill(pid_, SIGTERM);
  const auto deadline = steady_clock::now() + options_.stop_grace;
  while (!HasEnded() && steady_clock::now() < deadline) std::this_thread::sleep_for(kGatewayPoll);
  if (HasEnded()) return;
  kill(-pid_, SIGKILL);
  (void)daemon::AwaitExit(std::exchange(pid_, 0));
}

}  // namespace gp::gpctl
