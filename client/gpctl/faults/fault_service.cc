#include "client/gpctl/faults/fault_service.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/file.h"
#include "client/gpctl/faults/trainers.h"

namespace gp::gpctl {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{5};
constexpr std::chrono::seconds kStartTimeout{30};
constexpr size_t kLogBytesShown = 600;

std::string EndOf(const std::string& log) {
  const std::string text = ReadFile(log).value_or("");
  return text.size() <= kLogBytesShown ? text : text.substr(text.size() - kLogBytesShown);
}

// A daemon writes its address file when it serves, an agent when it has registered.
bool HasWritten(const std::string& address_file, int pid) {
  const auto text = ReadFile(address_file);
  if (!text.ok()) return false;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  return json.is_object() && json.value("pid", 0) == pid;
}

// Waits until no process has one of these numbers.
void AwaitEnd(const std::vector<int>& processes) {
  const auto deadline = steady_clock::now() + kStartTimeout;
  for (const int process : processes) {
    while (IdentifyProcess(process).ok() && steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kPoll);
    }
  }
}

}  // namespace

FaultService::~FaultService() {
  const std::vector<int> trainers = Trainers();
  for (Daemon& agent : agents_) Kill(agent);
  Kill(coordinator_);
  AwaitEnd(trainers);  // they die with their agents
  if (directory_.empty()) return;
  const Status removed = RemoveTree(directory_);
  if (!removed.ok()) console_.err << "warning: " << Message(removed) << "\n";
}

Status FaultService::Start(int agents, int slots) {
  const std::string parent = console_.Variable("TMPDIR");
  std::string pattern = JoinPath(parent.empty() ? "/tmp" : parent, "gp-faults-XXXXXX");
  if (mkdtemp(pattern.data()) == nullptr) return ErrnoStatus(errno, "make", pattern);
  directory_ = pattern;
  slots_ = slots;
  RETURN_IF_ERROR(MakeDirectory(JoinPath(directory_, "storage")));
  RETURN_IF_ERROR(StartCoordinator());
  for (int i = 0; i < agents; ++i) {
    agents_.push_back({.name = fmt::format("node-{}", i + 1), .process = {}});
  }
  return StartDeadAgents();
}

Status FaultService::StartCoordinator() {
  return StartDaemon("gp-coordinator",
                     {"--state-dir", JoinPath(directory_, "coordinator"), "--socket",
                      JoinPath(directory_, "coordinator.sock")},
                     coordinator_);
}

Status FaultService::StartDeadAgents() {
  for (Daemon& agent : agents_) {
    ReapChildren();
    if (!IsAlive(agent.process)) RETURN_IF_ERROR(StartAgent(agent));
  }
  return OkStatus();
}

Status FaultService::StartAgent(Daemon& agent) {
  return StartDaemon("gp-worker",
                     {"--coordinator", address(), "--state-dir", JoinPath(directory_, agent.name),
                      "--name", agent.name, "--slots", fmt::format("{}", slots_), "--gpus", "none"},
                     agent);
}

Status FaultService::StartDaemon(const std::string& program, std::vector<std::string> arguments,
                                 Daemon& daemon) {
  const std::string address_file = JoinPath(directory_, daemon.name + ".json");
  const std::string log = JoinPath(directory_, daemon.name + ".log");
  arguments.insert(arguments.end(),
                   {"--storage-root", JoinPath(directory_, "storage"), "--metrics-listen",
                    "127.0.0.1:0", "--address-file", address_file});
  RETURN_IF_ERROR(RemoveTree(address_file));
  ASSIGN_OR_RETURN(daemon.process,
                   SpawnDetached({.program = JoinPath(console_.program_directory, program),
                                  .arguments = std::move(arguments),
                                  .log_path = log}));
  const auto deadline = steady_clock::now() + kStartTimeout;
  while (!HasWritten(address_file, daemon.process.pid)) {
    ReapChildren();
    if (!IsAlive(daemon.process)) return Internal("{} exited at startup:\n{}", program, EndOf(log));
    if (steady_clock::now() >= deadline) {
      return DeadlineExceeded("{} is not ready after {} s:\n{}", program, kStartTimeout.count(),
                              EndOf(log));
    }
    if (console_.interruption.WaitFor(kPoll)) return Cancelled("interrupted");
  }
  return OkStatus();
}

void FaultService::Kill(Daemon& daemon) {
  if (IsAlive(daemon.process)) kill(daemon.process.pid, SIGKILL);
  // It sends nothing more: the process has ended, or ends now.
  (void)StopProcess(std::exchange(daemon.process, {}), kStartTimeout);
}

void FaultService::KillCoordinator() { Kill(coordinator_); }

void FaultService::KillAgent(size_t agent) { Kill(agents_.at(agent)); }

std::vector<int> FaultService::Trainers() const {
  std::vector<int> all;
  for (const Daemon& agent : agents_) {
    for (const int trainer : TrainersOf(agent.process.pid)) all.push_back(trainer);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace gp::gpctl
