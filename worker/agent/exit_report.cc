#include "worker/agent/exit_report.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/wait.h>

#include "base/exit_code.h"

namespace gp::agent {
namespace {

// The cause when the last message was lost. kUsage may be CONFIG, which ends the run, or DATA,
// which may pass or differ on another node; so it is an ERROR, which is retried.
v1::ExitCause CauseOf(int exit_code) {
  switch (static_cast<ExitCode>(exit_code)) {
    case ExitCode::kStorage:
      return v1::EXIT_CAUSE_STORAGE;
    case ExitCode::kDamaged:
      return v1::EXIT_CAUSE_DAMAGED_CHECKPOINT;
    case ExitCode::kCollective:
      return v1::EXIT_CAUSE_COLLECTIVE;
    default:
      return v1::EXIT_CAUSE_ERROR;
  }
}

std::string Ending(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return fmt::format("killed by SIG{} ({})", sigabbrev_np(signal), sigdescr_np(signal));
  }
  return fmt::format("exited with code {}", WEXITSTATUS(wait_status));
}

// The part of an output line that explains an end. Lines of our own log lose their prefix (time,
// level, program); progress lines explain nothing.
std::string_view WordsOfEnd(std::string_view line) {
  const size_t level = line.find(' ') + 1;
  const size_t program = line.find(' ', level) + 1;
  const size_t words = line.find(' ', program) + 1;
  const bool is_log = level > 1 && line[level - 2] == 'Z' && program > level && words > program &&
                      line.substr(program).starts_with("gp-");
  if (!is_log) return line;
  const std::string_view name = line.substr(level, program - 1 - level);
  return name == "info" || name == "debug" ? "" : line.substr(words);
}

std::string WithLastLine(std::string ending, const std::string& last_line) {
  const std::string_view words = WordsOfEnd(last_line);
  return words.empty() ? ending : fmt::format("{}; its last line: {}", ending, words);
}

ExitReport ExplainZero(const ExitEvidence& evidence) {
  // Checked before `finished`, because a trainer may be stopped while it waits for its last
  // checkpoint to be sealed.
  if (evidence.stopped) {
    return {
        v1::EXIT_CAUSE_STOPPED, 0,
        fmt::format("stopped after step {}: {}", evidence.stopped->step, evidence.stopped->reason)};
  }
  if (evidence.finished) return {v1::EXIT_CAUSE_COMPLETED, 0, "all steps done"};
  if (evidence.told_stop) return {v1::EXIT_CAUSE_STOPPED, 0, "stopped on request"};
  return {v1::EXIT_CAUSE_ERROR, 0,
          WithLastLine("exited with code 0 before its last step", evidence.last_line)};
}

std::string OutOfMemoryWords(uint64_t limit_bytes) {
  if (limit_bytes == 0) {
    return "out of memory: the kernel killed it; use a smaller batch.micro_batch or fewer slots";
  }
  constexpr double kMiB = 1 << 20;
  const double mib = static_cast<double>(limit_bytes) / kMiB;
  const std::string limit =
      mib < 1024 ? fmt::format("{:.0f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
  return fmt::format(
      "out of memory: the kernel killed it at its limit of {}; raise trainer.memory_max of this "
      "node, or use a smaller batch.micro_batch",
      limit);
}

ExitReport ExplainSignal(const ExitEvidence& evidence) {
  const int signal = WTERMSIG(evidence.wait_status);
  if (evidence.told_stop) {
    return {v1::EXIT_CAUSE_STOPPED, signal, "did not stop when asked and was killed"};
  }
  if (evidence.hung) return {v1::EXIT_CAUSE_STALLED, signal, evidence.kill_reason};
  if (!evidence.kill_reason.empty()) {
    return {v1::EXIT_CAUSE_ERROR, signal, "killed: " + evidence.kill_reason};
  }
  if (signal == SIGKILL && evidence.memory_killed) {
    return {v1::EXIT_CAUSE_OUT_OF_MEMORY, signal, OutOfMemoryWords(evidence.memory_limit_bytes)};
  }
  return {v1::EXIT_CAUSE_SIGNAL, signal,
          WithLastLine(Ending(evidence.wait_status), evidence.last_line)};
}

v1::ExitCause CauseOf(const link::Failed& failed, int exit_code) {
  const auto cause = static_cast<v1::ExitCause>(failed.cause);
  return cause == v1::EXIT_CAUSE_UNSPECIFIED ? CauseOf(exit_code) : cause;
}

}  // namespace

ExitReport Explain(const ExitEvidence& evidence) {
  const int code = WIFEXITED(evidence.wait_status) ? WEXITSTATUS(evidence.wait_status)
                                                   : WTERMSIG(evidence.wait_status);
  if (WIFEXITED(evidence.wait_status) && code == 0) return ExplainZero(evidence);
  if (evidence.failed.has_value() && !evidence.told_stop) {
    const std::string& words = evidence.failed->message;
    return {CauseOf(*evidence.failed, code), code,
            words.empty() ? WithLastLine(Ending(evidence.wait_status), evidence.last_line) : words};
  }
  if (WIFSIGNALED(evidence.wait_status)) return ExplainSignal(evidence);
  if (evidence.told_stop) {
    return {v1::EXIT_CAUSE_STOPPED, code, "stopped on request; " + Ending(evidence.wait_status)};
  }
  return {CauseOf(code), code, WithLastLine(Ending(evidence.wait_status), evidence.last_line)};
}

}  // namespace gp::agent
