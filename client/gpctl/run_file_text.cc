#include "client/gpctl/run_file_text.h"

#include <iterator>

#include "base/file.h"
#include "client/gpctl/render/run_json.h"

namespace gp::gpctl {
namespace {

constexpr uint64_t kSizeBytesMax = 1 << 20;

bool IsDataPath(const std::string& override_text, const std::string& key) {
  return override_text.rfind(key + "=", 0) == 0;
}

// A YAML flow list; JSON's quoting is YAML's.
std::string PathList(const std::string& key, const std::vector<std::string>& paths) {
  return key + "=" + Json(paths).dump();
}

}  // namespace

StatusOr<RunFileText> ReadRunFile(const std::string& path, Console& console) {
  if (path == "-") {
    std::string text((std::istreambuf_iterator<char>(console.in)),
                     std::istreambuf_iterator<char>());
    return RunFileText{std::move(text), "(standard input)", console.working_directory};
  }
  const std::string absolute = AbsolutePath(path, console.working_directory);
  StatusOr<std::string> text = ReadFile(absolute, kSizeBytesMax);
  if (!text.ok()) {
    return InvalidArgument("{}; expected a run file, 'gpctl init' writes one",
                           Message(text.status()));
  }
  return RunFileText{*std::move(text), path, DirectoryOf(absolute)};
}

runspec::RunFileResult CheckRunFile(const RunFileText& file,
                                    const std::vector<std::string>& overrides,
                                    const Console& console) {
  return runspec::LoadRunFile(
      file.text, file.name, overrides,
      {.base_directory = file.directory, .override_directory = console.working_directory});
}

std::vector<std::string> AbsoluteOverrides(const std::vector<std::string>& overrides,
                                           const runspec::RunSpec& spec) {
  std::vector<std::string> absolute;
  for (const std::string& text : overrides) {
    if (IsDataPath(text, "data.text")) {
      absolute.push_back(PathList("data.text", spec.data.text));
    } else if (IsDataPath(text, "data.train")) {
      absolute.push_back(PathList("data.train", spec.data.train));
    } else if (IsDataPath(text, "data.val")) {
      absolute.push_back(PathList("data.val", spec.data.val));
    } else {
      absolute.push_back(text);
    }
  }
  return absolute;
}

Status ProblemsStatus(const runspec::RunFileResult& result) {
  std::string text = RenderProblems(result.problems);
  if (result.problems.size() > 1) text += fmt::format("{} errors. ", result.problems.size());
  return InvalidArgument("{}All keys: gpctl explain run", text);
}

}  // namespace gp::gpctl
