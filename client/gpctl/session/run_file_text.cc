#include "client/gpctl/session/run_file_text.h"

#include <set>

#include "base/file.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/checkpoint_reference.h"
#include "formats/file_kind.h"
#include "interop/model_format.h"
#include "runspec/schema.h"

namespace gp::gpctl {
namespace {

constexpr uint64_t kRunFileBytesMax = 1 << 20;

// The override "KEY=VALUE" with the field's path. A list of paths is written as JSON, which is
// valid YAML.
std::string PathOverride(const runspec::RunField& field, runspec::RunSpec& spec) {
  const runspec::Slot slot = field.slot(spec);
  if (auto* const* path = std::get_if<std::string*>(&slot)) return field.path + "=" + **path;
  return field.path + "=" + Json(*std::get<std::vector<std::string>*>(slot)).dump();
}

// Finds the model of init_from: a path, or a checkpoint of a run.
StatusOr<runspec::InitialModel> FindReferencedModel(const std::string& reference,
                                                    const std::string& base, Session& session) {
  const std::string path = AbsolutePath(reference, base);
  const bool is_path = reference.find('/') != std::string::npos || FileExists(path);
  if (is_path) return interop::FindModelAt(path);
  ASSIGN_OR_RETURN(const std::string directory, FindCheckpointDirectory(reference, session));
  return interop::FindModelAt(directory);
}

// Adds overrides with the model's path, shape and tokenizer, because the server may not be able to
// read the model's files.
void AddInitialModel(runspec::RunSpec& spec, std::vector<std::string>& overrides) {
  if (spec.init_from == runspec::kFromScratch) return;
  overrides.push_back("init_from=" + spec.init_from);
  overrides.push_back("data.tokenizer=" + spec.data.tokenizer);
  for (const runspec::RunField& field : runspec::Schema()) {
    if (!field.path.starts_with("model.")) continue;
    overrides.push_back(field.path + "=" + runspec::FormatValue(field, spec));
  }
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
    RETURN_IF_ERROR(formats::RefuseOtherText("-", text, "a run file"));
    return RunFileText{std::move(text), "(standard input)", console.working_directory};
  }
  const std::string absolute = AbsolutePath(path, console.working_directory);
  StatusOr<std::string> text = ReadFile(absolute, kRunFileBytesMax);
  if (!text.ok()) {
    return InvalidArgument("{}; expected a run file, 'gpctl init' writes one",
                           Message(text.status()));
  }
  RETURN_IF_ERROR(formats::RefuseOtherText(path, *text, "a run file"));
  // Relative paths in a run file are relative to its folder. One read from a descriptor has no
  // folder, so the working directory is used.
  return RunFileText{*std::move(text), path,
                     IsOpenFile(absolute) ? console.working_directory : DirectoryOf(absolute)};
}

bool IsOpenFile(const std::string& path) {
  const bool of_process = path.starts_with("/proc/") && path.find("/fd/") != std::string::npos;
  return path == "-" || path == "/dev/stdin" || path.starts_with("/dev/fd/") || of_process;
}

runspec::RunFileResult CheckRunFile(const RunFileText& file, const Settings& settings,
                                    Session& session) {
  return runspec::LoadRunFile(
      file.text, file.name, settings.values,
      {.base_directory = file.directory,
       .override_directory = session.console().working_directory,
       .override_sources = settings.sources,
       .find_initial_model = [&session](const std::string& reference, const std::string& base) {
         return FindReferencedModel(reference, base, session);
       }});
}

runspec::RunFileResult CheckRunFileOf(const RunFileText& file, const std::string& name,
                                      Settings settings, Session& session) {
  if (name.empty()) return CheckRunFile(file, settings, session);
  settings.values.push_back("name=" + name);
  auto result = CheckRunFile(file, settings, session);
  for (ConfigProblem& problem : result.problems) {
    if (problem.source == "--set name") problem.source = "--name";
  }
  return result;
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
  for (const runspec::RunField* field : path_fields) absolute.push_back(PathOverride(*field, spec));
  absolute.insert(absolute.end(), others.begin(), others.end());
  AddInitialModel(spec, absolute);
  return absolute;
}

Status ProblemsStatus(const runspec::RunFileResult& result) {
  std::string text = RenderProblems(result.problems);
  const size_t count = CountProblems(result.problems);
  if (count > 1) text += fmt::format("{} errors. ", count);
  return InvalidArgument("{}All keys: gpctl explain run", text);
}

}  // namespace gp::gpctl
