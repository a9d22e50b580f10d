// gpctl doctor.
#include <sys/resource.h>

#include <memory>
#include <optional>
#include <thread>

#include "base/file.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/demo/demo_text.h"
#include "client/gpctl/doctor/gpu_checks.h"
#include "client/gpctl/doctor/machine_checks.h"
#include "client/gpctl/doctor/overfit.h"
#include "client/gpctl/render/connection_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/service/program_run.h"
#include "client/gpctl/service/service_directory.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

// The output of a program beside gpctl; nullopt if it cannot be started or fails.
std::optional<std::string> Ask(const std::string& name, const char* argument, Session& session) {
  std::string output;
  const auto code = RunProgram({.program = JoinPath(session.console().program_directory, name),
                                .arguments = {argument},
                                .quiet = true},
                               session.console().interruption,
                               [&output](const std::string& piece) { output += piece; });
  if (!code.ok() || *code != 0) return std::nullopt;
  return output;
}

uint64_t SharedMemoryBytes() {
  const auto space = SpaceAt("/dev/shm");
  return space.ok() ? space->total_bytes : 0;
}

uint64_t LockedMemoryBytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? ~uint64_t{0} : limit.rlim_cur;
}

// A hint for a library that the loader cannot find or load.
std::string LibraryRemedy(const std::string& program, const Console& console) {
  const std::string path = console.Variable("LD_LIBRARY_PATH");
  const std::string remedy =
      fmt::format("ldd {} shows which; scripts/bootstrap installs them", program);
  if (path.empty()) return remedy;
  return fmt::format("try it without LD_LIBRARY_PATH, which is {}; otherwise {}", path, remedy);
}

// Starts the program to prove that its libraries, such as LibTorch, can be loaded.
Check CheckProgram(const std::string& name, Session& session) {
  const std::string program = JoinPath(session.console().program_directory, name);
  std::string output;
  const auto code = RunProgram({.program = program, .arguments = {"--version"}, .quiet = true},
                               session.console().interruption,
                               [&output](const std::string& piece) { output += piece; });
  while (!output.empty() && output.back() == '\n') output.pop_back();
  if (!code.ok()) {
    const bool missing = code.status().code() == StatusCode::kNotFound;
    return {Grade::kFail, name, Message(code.status()), missing ? "build it: make programs" : ""};
  }
  if (*code == 127) {
    return {Grade::kFail, name, program + " does not start: a library is missing",
            LibraryRemedy(program, session.console())};
  }
  if (*code != 0)
    return {Grade::kFail, name, fmt::format("{} --version exits with {}", program, *code),
            "build it again: make programs"};
  return {.subject = name, .finding = output.empty() ? program : output};
}

// Further checks for training on GPUs, if the machine has any.
void AddGpuMachineChecks(int gpus, Session& session, std::vector<Check>& checks) {
  const Check program = CheckProgram("gp-trainer-cuda", session);
  checks.push_back(program);
  if (program.grade == Grade::kFail) {
    checks.back().fix = "make gpu builds it in build/cuda/bin; put it beside gp-worker";
  } else if (const auto support = Ask("gp-trainer-cuda", "--support", session)) {
    const auto more = CheckSupport(*support, gpus);
    checks.insert(checks.end(), more.begin(), more.end());
  } else {
    checks.push_back({Grade::kFail, "support", "gp-trainer-cuda --support fails",
                      "run it to see why; LD_LIBRARY_PATH must lead to the CUDA libraries"});
  }
  checks.push_back(CheckSharedMemory(SharedMemoryBytes(), gpus));
  checks.push_back(CheckLockedMemory(LockedMemoryBytes()));
}

void AddGpuChecks(Session& session, std::vector<Check>& checks) {
  const auto document = Ask("gp-worker", "--print-gpus", session);
  if (!document) return;  // the check of the program itself reports why
  const GpuFindings findings = CheckGpus(*document);
  checks.insert(checks.end(), findings.checks.begin(), findings.checks.end());
  if (findings.gpus > 0) AddGpuMachineChecks(findings.gpus, session, checks);
}

Check CheckDemoText(const Session& session) {
  const auto path = FindDemoText(DemoTextPlaces(session.console().program_directory));
  if (path.ok()) return {.subject = "demo text", .finding = *path};
  return {Grade::kWarning, "demo text", "the Jargon File is not installed",
          "apt-get install jargon-text, or gpctl demo --text PATH"};
}

Check CheckServer(const v1::VersionResponse& version, const std::string& address) {
  if (!version.insecure()) {
    return {.subject = "coordinator",
            .finding = fmt::format("{} at {}", version.version(), address)};
  }
  return {
      Grade::kWarning, "coordinator",
      fmt::format(
          "{} at {} serves a port without TLS (--insecure): anyone who reaches it may do anything",
          version.version(), address),
      "start it without --insecure: then it makes certificates and tokens by itself"};
}

Check CheckConnection(const client::RunClient& client) {
  Check check{.subject = "connection", .finding = ConnectionText(client)};
  if (ConnectionSecurity(client) != "none") return check;
  check.grade = Grade::kWarning;
  check.fix =
      "start the coordinator without --insecure, then gpctl login HOST:PORT --token-file FILE";
  return check;
}

// Checks the coordinator, and whether the traffic to it and between nodes is encrypted.
void AddServerChecks(Session& session, std::vector<Check>& checks) {
  if (!session.ServerAddress().ok()) {
    checks.push_back(
        {.subject = "coordinator",
         .finding = fmt::format("none configured; {} starts one", session.Hint("up"))});
    return;
  }
  const auto client = session.Client();
  const auto version = client.ok() ? (*client)->Version() : client.status();
  if (!version.ok()) {
    // Suggest to start the service only if it is a service of this machine that cannot be reached.
    const auto service = session.Service();
    const bool starts_here = version.status().code() == StatusCode::kUnavailable && service.ok() &&
                             !service->state_dir.empty();
    checks.push_back({Grade::kWarning, "coordinator", Message(version.status()),
                      starts_here ? session.HintFor(service->state_dir, "up --detach") : ""});
    return;
  }
  checks.push_back(CheckServer(*version, (*client)->address()));
  checks.push_back(CheckConnection(**client));
  if (version->has_gradients_encrypted()) {
    checks.push_back(
        {.subject = "gradients", .finding = EncryptionText(version->gradients_encrypted())});
  }
}

double SecondsSince1970(const Clock& clock) {
  return std::chrono::duration<double>(clock.WallNow().time_since_epoch()).count();
}

// A missing gateway is only a warning: training does not need it.
Check CheckGatewayProgram(Session& session) {
  Check check = CheckProgram("gp-gateway", session);
  if (check.grade == Grade::kFail) check.grade = Grade::kWarning;
  return check;
}

// Checks the gateway of a service on this machine.
void AddGatewayCheck(const Session& session, std::vector<Check>& checks) {
  const auto service = session.Service();
  if (!service.ok() || service->state_dir.empty()) return;
  const auto record = ServiceDirectory(service->state_dir).Load();
  if (!record.ok() || !IsAlive(record->supervisor)) return;
  if (IsAlive(record->gateway)) {
    checks.push_back({.subject = "gateway", .finding = "http://" + record->gateway_address});
  } else {
    checks.push_back({Grade::kWarning, "gateway", "not running: " + record->gateway_problem,
                      ServiceDirectory(service->state_dir).Log("gateway") + " shows more"});
  }
}

// Checks the storage of a service on this machine, whether it runs or not.
void AddStorageCheck(const Session& session, std::vector<Check>& checks) {
  const auto service = session.Service();
  if (!service.ok() || service->state_dir.empty()) return;
  const auto record = ServiceDirectory(service->state_dir).Load();
  if (!record.ok() || record->storage_identity.empty()) return;
  checks.push_back(CheckStorage(record->storage_root, record->storage_identity,
                                session.HintFor(service->state_dir, "up --adopt")));
}

std::vector<Check> RunChecks(Session& session) {
  std::vector<Check> checks = {
      CheckProcessor(ReadFile("/proc/cpuinfo").value_or(""),
                     static_cast<int>(std::thread::hardware_concurrency())),
      CheckMemory(ReadFile("/proc/meminfo").value_or("")),
      CheckOpenFiles(),
      CheckDisk(session.StateDirectory()),
      CheckStateDirectory(session.StateDirectory()),
      CheckClock(SecondsSince1970(session.console().clock)),
      CheckPorts(),
      CheckConfinement(confinement::WhatConfines())};
  for (const char* program : {"gp-coordinator", "gp-worker", "gp-trainer", "gp-sampler"}) {
    checks.push_back(CheckProgram(program, session));
  }
  checks.push_back(CheckGatewayProgram(session));
  AddGpuChecks(session, checks);
  checks.push_back(CheckDemoText(session));
  AddStorageCheck(session, checks);
  AddServerChecks(session, checks);
  AddGatewayCheck(session, checks);
  return checks;
}

std::string CheckJson(const std::vector<Check>& checks) {
  Json document = Document("Diagnosis");
  document["checks"] = Json::array();
  for (const Check& check : checks) {
    document["checks"].push_back({{"grade", GradeName(check.grade)},
                                  {"subject", check.subject},
                                  {"finding", check.finding},
                                  {"fix", check.fix}});
  }
  return Pretty(document);
}

StatusOr<ExitCode> Doctor(Session& session) {
  GlobalOptions options = session.options();
  options.timeout = "2s";
  Session brief(options, session.console());
  const std::vector<Check> checks = RunChecks(brief);
  session.console().out << (session.json() ? CheckJson(checks)
                                           : WrappedBelowText(CheckText(checks), session.width()));
  for (const Check& check : checks) {
    if (check.grade == Grade::kFail) return ExitCode::kFailure;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddDoctorCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "doctor", kServiceGroup, "Check this machine and the programs, with a fix for each problem");
  auto options = std::make_shared<OverfitOptions>();
  const Flag overfit =
      command
          .Option("--overfit", options->file,
                  "instead: train on one batch of this run file until its loss is below "
                  "0.01, which any working model reaches")
          .Path();
  command.Option("--set", options->overrides, "path=value, overrides the file; may be repeated")
      .Needs(overfit)
      .OneValueEach();
  commands.Bind(command, [options](Session& session) {
    return options->file.empty() ? Doctor(session) : Overfit(*options, session);
  });
}

}  // namespace gp::gpctl
