#include "client/gpctl/run_file_text.h"

#include <set>

#include "base/file.h"
#include "client/gpctl/render/run_json.h"
#include "runspec/schema.h"

namespace gp::gpctl {
namespace {

constexpr uint64_t kRunFileBytesMax = 1 << 20;

// A YAML flow list; JSON's quoting is YAML's.
std::string PathList(const runspec::RunField& field, runspec::RunSpec& spec) {
  return field.path + "=" + Json(*std::get<std::vector<std::string>*>(field.slot(spec))).dump();
}

}  // namespace

StatusOr<RunFileText> ReadRunFile(const std::string& path, Console& console) {
  if (path == "-") {
    std::string text(kRunFileBytesMax + 1, '\0');
    console.in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(console.in.gcount()));
    if (text.size() > kRunFileBytesMax) {
      return InvalidArgument("(standard input) is longer than the {} bytes a run file may have",
                             kRunFileBytesMax);
    }
    return RunFileText{std::move(text), "(standard input)", console.working_directory};
  }
  const std::string absolute = AbsolutePath(path, console.working_directory);
  StatusOr<std::string> text = ReadFile(absolute, kRunFileBytesMax);
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
                                           runspec::RunSpec spec) {
  std::set<const runspec::RunField*> path_fields;
  std::vector<std::string> others;
  for (const std::string& text : overrides) {
    const runspec::RunField* field = runspec::FindField(text.substr(0, text.find('=')));
    if (field != nullptr && field->is_path) {
      path_fields.insert(field);
    } else {
      others.push_back(text);
    }
  }
  std::vector<std::string> absolute;
  for (const runspec::RunField* field : path_fields) absolute.push_back(PathList(*field, spec));
  absolute.insert(absolute.end(), others.begin(), others.end());
  return absolute;
}

Status ProblemsStatus(const runspec::RunFileResult& result) {
  std::string text = RenderProblems(result.problems);
  const size_t count = CountProblems(result.problems);
  if (count > 1) text += fmt::format("{} errors. ", count);
  return InvalidArgument("{}All keys: gpctl explain run", text);
}

}  // namespace gp::gpctl
