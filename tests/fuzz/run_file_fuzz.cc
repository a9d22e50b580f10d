// An untrusted run file, as YAML and as a run. An accepted run is written in resolved form and must
// mean the same when read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/config_problem.h"
#include "base/yaml_reader.h"
#include "runspec/run_file.h"

namespace {

using namespace gp;
using namespace gp::runspec;

constexpr size_t kMessageBytesMax = 4096;
constexpr size_t kDepthMax = 1000;

// A problem's text must be bounded; a longer one would contain the input itself.
void CheckProblem(const ConfigProblem& problem) {
  GP_CHECK(!problem.message.empty() && problem.line >= 0 && problem.column >= 0);
  GP_CHECK(problem.message.size() + problem.hint.size() + problem.excerpt.size() <=
           kMessageBytesMax);
}

size_t Depth(const YamlNode& node) {
  size_t depth = 0;
  for (const YamlNode& item : node.items) depth = std::max(depth, Depth(item));
  for (const YamlEntry& entry : node.entries) {
    GP_CHECK(entry.key_mark.line >= 1 && entry.key_mark.column >= 1);
    depth = std::max(depth, Depth(entry.value));
  }
  return depth + 1;
}

void TryYaml(std::string_view text) {
  const auto parsed = ParseYaml(text, "run.yaml");
  if (const auto* problem = std::get_if<ConfigProblem>(&parsed)) {
    CheckProblem(*problem);
  } else {
    GP_CHECK(Depth(std::get<YamlNode>(parsed)) <= kDepthMax);
  }
}

// Removes the last line of the input if it looks like an override, and returns it.
std::vector<std::string> OverridesIn(std::string_view& text) {
  const size_t line = text.rfind("\n--set ");
  if (line == std::string_view::npos) return {};
  const std::string last(text.substr(line + 7));
  text = text.substr(0, line + 1);
  return {last};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  TryYaml(text);
  const auto overrides = OverridesIn(text);
  const RunFileResult result = LoadRunFile(text, "run.yaml", overrides, {"/base", "/override"});
  GP_CHECK(result.spec.has_value() == result.problems.empty());
  GP_CHECK(result.problems.size() <= ConfigProblems::kListedMax + 1);
  for (const ConfigProblem& problem : result.problems) CheckProblem(problem);
  if (!result.spec) return 0;
  const std::string resolved = ResolvedYaml(*result.spec);
  const RunFileResult again = LoadRunFile(resolved, "resolved.yaml");
  GP_CHECK(again.spec.has_value(), "{}\n{}", RenderProblems(again.problems), resolved);
  GP_CHECK(ResolvedYaml(*again.spec) == resolved);
  return 0;
}
