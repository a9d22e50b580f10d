#include "base/config_problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/excerpt.h"

namespace gp {
namespace {

constexpr size_t kSourceCharactersMax = 200;
constexpr size_t kMessageCharactersMax = 500;

std::string Place(const ConfigProblem& problem) {
  if (problem.line == 0) return problem.source;
  return fmt::format("{}:{}:{}", problem.source, problem.line, problem.column);
}

// Spaces up to the underlined character; tabs stay tabs, so that the carets line up in any
// terminal.
std::string Indent(const ConfigProblem& problem) {
  std::string indent;
  for (const char c : problem.excerpt) {
    const bool begins_character = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (!begins_character) continue;
    if (static_cast<int>(indent.size()) >= problem.excerpt_column - 1) break;
    indent.push_back(c == '\t' ? '\t' : ' ');
  }
  return indent;
}

std::string ExcerptBlock(const ConfigProblem& problem) {
  const int room = static_cast<int>(CountCharacters(problem.excerpt)) - problem.excerpt_column + 1;
  const int width = std::clamp(problem.width, 1, std::max(room, 1));
  return fmt::format("{:>6} | {}\n       | {}{}{}{}\n", problem.line, problem.excerpt,
                     Indent(problem), std::string(static_cast<size_t>(width), '^'),
                     problem.hint.empty() ? "" : " ", problem.hint);
}

// The message without its leading key if the source is a flag, which names the key already: "--set
// optimizer.lr: must be".
std::string_view MessageAfterPlace(const ConfigProblem& problem) {
  std::string_view message = problem.message;
  if (!problem.source.starts_with("--") || problem.line > 0) return message;
  if (message.starts_with(problem.key + ": ")) message.remove_prefix(problem.key.size() + 2);
  if (message.starts_with(problem.key + " must ")) message.remove_prefix(problem.key.size() + 1);
  return message;
}

std::string RenderProblem(const ConfigProblem& problem, std::string_view severity) {
  std::string text =
      fmt::format("{}: {}: {}\n", severity, Place(problem), MessageAfterPlace(problem));
  if (problem.line > 0) return text + ExcerptBlock(problem);
  if (!problem.hint.empty()) text += fmt::format("       | {}\n", problem.hint);
  return text;
}

// Line `line` (1-based) without its end; empty if there is no such line.
std::string_view LineOf(std::string_view text, int line) {
  for (int current = 1; current < line; ++current) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  std::string_view found = text.substr(0, text.find('\n'));
  if (found.ends_with('\r')) found.remove_suffix(1);
  return found;
}

}  // namespace

void PointAt(std::string_view text, const TextPlace& place, ConfigProblem& problem) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::string_view line = LineOf(text, place.line);
  const auto wanted = static_cast<size_t>(std::max(place.column - 1, 0));
  const size_t offset = std::min(wanted, line.size());
  const LineExcerpt excerpt = ExcerptAround(line, offset);
  problem.line = place.line;
  problem.column = static_cast<int>(CountCharacters(line.substr(0, offset))) + 1;
  const auto width_bytes = static_cast<size_t>(std::max(place.width, 1));
  const size_t width = CountCharacters(line.substr(offset, width_bytes));
  problem.width = static_cast<int>(std::max<size_t>(width, 1));
  problem.excerpt = excerpt.text;
  problem.excerpt_column = static_cast<int>(excerpt.index) + 1;
}

void ConfigProblems::Add(ConfigProblem problem) {
  if (full()) {
    ++unlisted_count_;
    return;
  }
  problem.source = Excerpt(problem.source, kSourceCharactersMax);
  problem.key = Excerpt(problem.key, kSourceCharactersMax);
  problem.message = Excerpt(problem.message, kMessageCharactersMax);
  problem.hint = Excerpt(problem.hint, kMessageCharactersMax);
  listed_.push_back(std::move(problem));
}

std::vector<ConfigProblem> ConfigProblems::Take() {
  if (unlisted_count_ > 0) {
    listed_.push_back({.source = listed_.back().source,
                       .message = fmt::format("{} more problems are not shown", unlisted_count_),
                       .count = unlisted_count_});
  }
  return std::move(listed_);
}

size_t CountProblems(const std::vector<ConfigProblem>& problems) {
  size_t count = 0;
  for (const ConfigProblem& problem : problems) count += problem.count;
  return count;
}

std::string RenderProblems(const std::vector<ConfigProblem>& problems, std::string_view severity,
                           size_t count_max) {
  std::string text;
  const size_t shown = std::min(problems.size(), count_max);
  for (size_t i = 0; i < shown; ++i) text += RenderProblem(problems[i], severity);
  if (problems.size() > shown) {
    text += fmt::format("{}: {} more\n", severity, CountProblems(problems) - shown);
  }
  return text;
}

}  // namespace gp
