#include "worker/agent/engine_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace gp::agent {
namespace {

constexpr size_t kEngineTextBytesMax = 4096;
// Smaller, because a report carries up to kUnansweredMax checkpoints for each rank of the node.
constexpr size_t kCheckpointTextBytesMax = 2048;
constexpr size_t kEngineNameBytesMax = 256;
constexpr size_t kEngineKernelsBytesMax = 64 << 10;
constexpr size_t kEngineListMax = 64;

std::string TooLong(const char* what, size_t size, size_t size_max) {
  if (size <= size_max) return "";
  return fmt::format("{} of {} bytes; at most {} are allowed", what, size, size_max);
}

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](const char c) { return c > ' ' && c <= '~'; });
}

// Each overload returns the problem with its message; empty if there is none.
struct EngineJudge {
  std::string operator()(const link::Hello& m) const {
    if (link::IsCompatible(m)) return "";
    return fmt::format(
        "protocols {} to {}; this agent supports {} to {}; install matching versions",
        m.protocol_min, m.protocol, link::kProtocolMin, link::kProtocol);
  }
  std::string operator()(const link::Ready&) const { return ""; }
  std::string operator()(const link::Beat&) const { return ""; }
  std::string operator()(const link::Held& m) const {
    return TooLong("a reason", m.reason.size(), kEngineTextBytesMax);
  }
  std::string operator()(const link::Finished&) const { return ""; }
  std::string operator()(const link::Failed&) const { return ""; }  // Observe cuts its text
  std::string operator()(const link::Stopped& m) const {
    return TooLong("a reason", m.reason.size(), kEngineTextBytesMax);
  }
  std::string operator()(const link::Waiting& m) const {
    return TooLong("a reason", m.reason.size(), kEngineTextBytesMax);
  }

  std::string operator()(const link::Listening& m) const {
    if (m.address.size() > kEngineNameBytesMax || !IsPrintable(m.address))
      return "an invalid address";
    if (m.isa_levels && m.isa_levels->size() > kEngineListMax)
      return "too many instruction-set levels";
    size_t bytes = m.nccl_id.value_or("").size();
    if (m.kernels) {
      for (const auto& [level, choices] : *m.kernels) bytes += level.size() + choices.size();
    }
    if (m.isa_levels) {
      for (const std::string& level : *m.isa_levels) bytes += level.size();
    }
    return TooLong("an offer", bytes, kEngineKernelsBytesMax);
  }

  std::string operator()(const link::StepReport& m) const {
    const contract::TrainingPoint& point = m.point;
    if (point.step < 0) return fmt::format("the step {}", point.step);
    if (point.scores.size() > kEngineListMax) {
      return fmt::format("{} scores; at most {} are allowed", point.scores.size(), kEngineListMax);
    }
    size_t bytes = point.warning.size() + point.peak_source.size();
    for (const auto& [name, value] : point.scores) bytes += name.size();
    return TooLong("texts of a step", bytes, 2 * kEngineTextBytesMax);
  }

  std::string operator()(const link::CheckpointReport& m) const {
    if (m.step < 0) return fmt::format("a checkpoint of the step {}", m.step);
    if (m.manifest_digest.size() > kEngineNameBytesMax || !IsPrintable(m.manifest_digest)) {
      return "an invalid digest";
    }
    return TooLong("a checkpoint's directory and end reason",
                   m.directory.size() + m.end_reason.size(), kCheckpointTextBytesMax);
  }

  // Messages that only the agent or only samplers send.
  template <typename Other>
  std::string operator()(const Other&) const {
    return "a message of a type that trainers do not send";
  }
};

}  // namespace

std::string Misbehaviour(const link::Message& message) {
  const std::string what = std::visit(EngineJudge(), message);
  return what.empty() ? "" : "it sent " + what;
}

}  // namespace gp::agent
