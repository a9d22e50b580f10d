#include "client/gpctl/doctor/overfit.h"

#include <fmt/format.h>

#include "base/file.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/service/program_run.h"
#include "client/gpctl/session/run_file_text.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

double NumberOf(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>()
                                                   : std::numeric_limits<double>::quiet_NaN();
}

// Reads gp-trainer's output, which arrives in pieces of any length, line by line: prints the steps
// and keeps the verdict.
class OverfitLog {
 public:
  explicit OverfitLog(Session& session) : session_(session) {}

  void Add(const std::string& piece) {
    pending_ += piece;
    for (size_t end; (end = pending_.find('\n')) != std::string::npos; pending_.erase(0, end + 1)) {
      HandleLine(Json::parse(pending_.substr(0, end), nullptr, /*allow_exceptions=*/false));
    }
  }

  // The line with the result; null before it has arrived.
  const Json& verdict() const { return verdict_; }

 private:
  void HandleLine(const Json& line) {
    if (!line.is_object()) return;
    if (line.contains("learned")) {
      verdict_ = line;
    } else if (session_.json()) {
      session_.console().out << OneLine(line) << std::flush;
    } else {
      session_.console().out << fmt::format("step {:>4.0f}   loss {}   norm {:.2f}   {:.0f} ms\n",
                                            NumberOf(line, "step"), Loss(NumberOf(line, "loss")),
                                            NumberOf(line, "grad_norm"),
                                            1000 * NumberOf(line, "step_seconds"))
                             << std::flush;
    }
  }

  Session& session_;
  std::string pending_;
  Json verdict_;
};

// The command that starts gp-trainer. `resolved`: a file in memory with the resolved run file, if
// gp-trainer cannot open the original because it is standard input; otherwise not valid.
ProgramRun Trainer(const std::string& program, const OverfitOptions& options,
                   const FileDescriptor& resolved) {
  if (resolved.valid()) {
    return {.program = program,
            .arguments = {"--spec", kFirstDescriptorPath, "--overfit"},
            .descriptors = {resolved.get()}};
  }
  ProgramRun run{.program = program, .arguments = {"--spec", options.file, "--overfit"}};
  for (const std::string& entry : options.overrides) {
    run.arguments.insert(run.arguments.end(), {"--set", entry});
  }
  return run;
}

std::string VerdictText(const Json& verdict, bool learned) {
  const std::string step = WithThousands(static_cast<int64_t>(NumberOf(verdict, "step")));
  const std::string loss = Loss(NumberOf(verdict, "loss"));
  const std::string tokens = WithThousands(static_cast<int64_t>(NumberOf(verdict, "tokens")));
  if (learned) {
    return fmt::format("ok: {} parameters overfit one batch of {} tokens: loss {} at step {}\n",
                       CompactCount(NumberOf(verdict, "parameters")), tokens, loss, step);
  }
  return fmt::format(
      "FAIL: after {} steps on one batch of {} tokens the loss is still {}, expected below 0.01.\n"
      "      Try another optimizer.lr (--set optimizer.lr=1e-3), and engine.kind: reference to see "
      "whether the model or the kernels are at fault.\n",
      step, tokens, loss);
}

}  // namespace

StatusOr<ExitCode> Overfit(const OverfitOptions& options, Session& session) {
  Console& console = session.console();
  ASSIGN_OR_RETURN(const RunFileText file, ReadRunFile(options.file, console));
  const runspec::RunFileResult checked = CheckRunFile(file, {options.overrides, {}}, session);
  if (!checked.spec) return ProblemsStatus(checked);
  const std::string program = JoinPath(console.program_directory, "gp-trainer");
  FileDescriptor resolved;
  if (IsOpenFile(options.file)) {
    ASSIGN_OR_RETURN(resolved, FileInMemory(runspec::ResolvedYaml(*checked.spec), "gp-trainer"));
  }
  OverfitLog log(session);
  const StatusOr<int> code = RunProgram(Trainer(program, options, resolved), console.interruption,
                                        [&log](const std::string& piece) { log.Add(piece); });
  if (code.status().code() == StatusCode::kNotFound) {
    return FailedPrecondition(
        "{} is missing: it belongs beside gpctl; build it with 'make programs'", program);
  }
  RETURN_IF_ERROR(code.status());
  if (*code == 2) return InvalidArgument("gp-trainer refused {} (its message is above)", file.name);
  if (log.verdict().is_null()) {
    return Internal("gp-trainer ended before a verdict (exit code {})", *code);
  }
  const bool learned = *code == 0;
  console.out << (session.json() ? OneLine(With("Overfit", log.verdict()))
                                 : VerdictText(log.verdict(), learned));
  return learned ? ExitCode::kOk : ExitCode::kFailure;
}

}  // namespace gp::gpctl
