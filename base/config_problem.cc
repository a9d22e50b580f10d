#include "base/config_problem.h"

#include <fmt/format.h>

#include <algorithm>

namespace gp {
namespace {

std::string Place(const ConfigProblem& problem) {
  if (problem.line == 0) return problem.source;
  return fmt::format("{}:{}:{}", problem.source, problem.line, problem.column);
}

// Spaces up to the underlined column; tabs stay tabs, so that the carets line up in any terminal.
std::string Indent(const ConfigProblem& problem) {
  std::string indent;
  const size_t count = static_cast<size_t>(std::max(problem.column - 1, 0));
  for (size_t i = 0; i < count; ++i) {
    const bool tab = i < problem.source_line.size() && problem.source_line[i] == '\t';
    indent.push_back(tab ? '\t' : ' ');
  }
  return indent;
}

std::string Excerpt(const ConfigProblem& problem) {
  const size_t length = problem.source_line.size();
  const size_t start = static_cast<size_t>(std::max(problem.column - 1, 0));
  const size_t room = length > start ? length - start : 1;
  const size_t width = std::clamp<size_t>(static_cast<size_t>(std::max(problem.width, 1)), 1, room);
  return fmt::format("{:>6} | {}\n       | {}{}{}{}\n", problem.line, problem.source_line,
                     Indent(problem), std::string(width, '^'), problem.hint.empty() ? "" : " ",
                     problem.hint);
}

std::string RenderProblem(const ConfigProblem& problem, std::string_view severity) {
  std::string text = fmt::format("{}: {}: {}\n", severity, Place(problem), problem.message);
  if (problem.line > 0) return text + Excerpt(problem);
  if (!problem.hint.empty()) text += fmt::format("       | {}\n", problem.hint);
  return text;
}

}  // namespace

std::string RenderProblems(const std::vector<ConfigProblem>& problems, std::string_view severity,
                           size_t count_max) {
  std::string text;
  const size_t shown = std::min(problems.size(), count_max);
  for (size_t i = 0; i < shown; ++i) text += RenderProblem(problems[i], severity);
  if (problems.size() > shown) {
    text += fmt::format("{}: {} more\n", severity, problems.size() - shown);
  }
  return text;
}

std::string LineOf(std::string_view text, int line) {
  for (int current = 1; current < line; ++current) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  std::string_view found = text.substr(0, text.find('\n'));
  if (found.ends_with('\r')) found.remove_suffix(1);
  return std::string(found);
}

}  // namespace gp
