#include "coordinator/state/initial_model.h"

#include <algorithm>
#include <string_view>

namespace gp::coordinator {
namespace {

constexpr std::string_view kKey = "init_from: ";
constexpr std::string_view kScratch = "scratch";

struct Place {
  size_t begin = 0;
  size_t size = 0;
};

// Where the value of a top-level key is in a resolved file (runspec::ResolvedYaml), which has one
// key per line. Empty if absent.
Place PlaceOf(std::string_view resolved, std::string_view key) {
  size_t begin = 0;
  while (begin < resolved.size()) {
    const size_t end = std::min(resolved.find('\n', begin), resolved.size());
    if (resolved.substr(begin, end - begin).starts_with(key)) {
      return {begin + key.size(), end - begin - key.size()};
    }
    begin = end + 1;
  }
  return {};
}

bool IsQuoted(std::string_view scalar) { return scalar.size() >= 2 && scalar.front() == '"'; }

// Parses a YAML scalar that runspec::YamlScalar wrote. Escapes of control characters are not
// decoded.
std::string TextOf(std::string_view scalar) {
  if (!IsQuoted(scalar)) return std::string(scalar);
  std::string text;
  for (size_t i = 1; i + 1 < scalar.size(); ++i) {
    const bool escapes = scalar[i] == '\\' && (scalar[i + 1] == '"' || scalar[i + 1] == '\\');
    text += scalar[escapes ? ++i : i];
  }
  return text;
}

std::string Quoted(std::string_view text) {
  std::string scalar = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') scalar += '\\';
    scalar += c;
  }
  return scalar + '"';
}

// Whether the path (absolute, or "runs/…") can be written to YAML without quotes.
bool IsPlain(std::string_view path) {
  const auto plain = [](const char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-@+").find(c) != std::string_view::npos;
  };
  return std::all_of(path.begin(), path.end(), plain);
}

}  // namespace

std::string InitialModelOf(const Submission& submission) {
  if (submission.texts_are_stored) return submission.initial_model;
  const auto [begin, size] = PlaceOf(submission.resolved, kKey);
  std::string path = TextOf(std::string_view(submission.resolved).substr(begin, size));
  return path == kScratch || size == 0 ? "" : path;
}

bool MayBeginAgain(const Run& run) {
  if (!IsTerminal(run.state) || run.LatestCheckpoint() != nullptr) return false;
  // An evaluation that succeeded has no checkpoint, and nothing is left to do.
  return run.state != RunState::kSucceeded || !run.quarantined.empty();
}

std::string AwaitedModel(const Run& run) {
  const bool begins_again = run.next_leg && run.next_leg->first_step.value_or(0) < 0;
  const bool needs_it = IsTerminal(run.state)
                            ? MayBeginAgain(run) && run.submission->parent_run.empty()
                            : run.LatestCheckpoint() == nullptr || begins_again;
  return needs_it ? InitialModelOf(*run.submission) : "";
}

void SetInitialModel(Submission& submission, const std::string& path) {
  const auto [begin, size] = PlaceOf(submission.resolved, kKey);
  const bool quoted = IsQuoted(std::string_view(submission.resolved).substr(begin, size));
  submission.resolved.replace(begin, size, quoted || !IsPlain(path) ? Quoted(path) : path);
}

}  // namespace gp::coordinator
