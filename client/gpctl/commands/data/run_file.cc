// gpctl validate, explain.
#include <memory>

#include "base/machine/available_memory.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/data/data_check.h"
#include "client/gpctl/render/plan_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/run_file_text.h"
#include "client/gpctl/session/setting_file.h"
#include "client/gpctl/terminal/display_text.h"
#include "runspec/explain.h"

namespace gp::gpctl {
namespace {

struct ValidateOptions {
  std::string file;
  std::vector<std::string> overrides;
  std::vector<std::string> set_files;
};

Json ProblemFields(const ConfigProblem& problem) {
  return {{"source", problem.source}, {"line", problem.line},       {"column", problem.column},
          {"key", problem.key},       {"message", problem.message}, {"hint", problem.hint}};
}

Json ProblemList(const std::vector<ConfigProblem>& problems) {
  Json list = Json::array();
  for (const ConfigProblem& problem : problems) list.push_back(ProblemFields(problem));
  return list;
}

// The results of the checks that gpctl makes before a submit.
struct Validation {
  runspec::RunFileResult run_file;
  DataCheck data;
  AvailableMemory memory = ReadAvailableMemory();

  bool valid() const { return run_file.spec.has_value() && !data.refused; }
};

Validation ValidationOf(const RunFileText& file, const Settings& settings, Session& session) {
  Validation validation{.run_file = CheckRunFile(file, settings, session)};
  if (!validation.run_file.spec) return validation;
  runspec::RunSpec& spec = *validation.run_file.spec;
  validation.data = CheckData(spec, session.ServerAddress().value_or(""));
  if (validation.data.report) ResolveVocabulary(*validation.data.report, spec);
  return validation;
}

Json ValidationDocument(const Validation& validation) {
  Json document = Document("Validation");
  document["valid"] = validation.valid();
  document["problem_count"] = CountProblems(validation.run_file.problems);
  document["problems"] = ProblemList(validation.run_file.problems);
  document["warnings"] = ProblemList(validation.run_file.warnings);
  if (!validation.run_file.spec) return document;
  const auto& report = validation.data.report;
  document["plan"] =
      PlanFields(*validation.run_file.spec, validation.memory, report ? &*report : nullptr);
  if (validation.data.report) document["data"] = DataFields(*validation.data.report);
  if (validation.data.report && !validation.data.report->warnings.empty()) {
    document["data_warnings"] = validation.data.report->warnings;
  }
  if (!validation.data.problem.empty()) document["data_problem"] = validation.data.problem;
  return document;
}

void PrintValidation(const Validation& validation, Session& session) {
  Console& console = session.console();
  const runspec::RunSpec& spec = *validation.run_file.spec;
  const DataCheck& data = validation.data;
  console.out << WrappedBelowText(
      PlanText(spec, validation.memory, data.report ? &*data.report : nullptr), session.width());
  console.Warn(WarningsOf(data));
  if (const auto warning = MemoryWarning(spec, validation.memory)) {
    console.err << "warning: " << *warning << "\n";
  }
  if (const auto warning = LostWorkWarning(spec, validation.memory)) {
    console.err << "warning: " << *warning << "\n";
  }
}

StatusOr<ExitCode> Validate(const ValidateOptions& options, Session& session) {
  Console& console = session.console();
  ASSIGN_OR_RETURN(const Settings settings,
                   SettingsOf(options.set_files, options.overrides, console));
  ASSIGN_OR_RETURN(const RunFileText file, ReadRunFile(options.file, console));
  const Validation validation = ValidationOf(file, settings, session);
  const runspec::RunFileResult& result = validation.run_file;
  if (session.json()) {
    console.out << Pretty(ValidationDocument(validation));
    return validation.valid() ? ExitCode::kOk : ExitCode::kUsage;
  }
  if (!result.warnings.empty()) console.err << RenderProblems(result.warnings, "warning");
  if (!result.spec) return ProblemsStatus(result);
  if (validation.data.refused) {
    return InvalidArgument("{}: {}", file.name, validation.data.problem);
  }
  PrintValidation(validation, session);
  return ExitCode::kOk;
}

StatusOr<ExitCode> Explain(const std::string& path, bool schema, Session& session) {
  if (schema) {
    session.console().out << runspec::JsonSchema() << "\n";
    return ExitCode::kOk;
  }
  const auto text = runspec::Explain(path);
  // The key is an argument of the command, so an unknown key is a usage error.
  if (!text.ok()) return InvalidArgument("{}", Message(text.status()));
  if (session.json()) {
    Json document = Document("Explanation");
    document["path"] = path;
    document["text"] = *text;
    session.console().out << Pretty(document);
  } else {
    session.console().out << *text << (text->ends_with('\n') ? "" : "\n");
  }
  return ExitCode::kOk;
}

void AddValidate(CommandSet& commands) {
  const Command command =
      commands.Add("validate", kRunFileGroup,
                   "Check a run file and its data and show the plan; needs no server");
  auto options = std::make_shared<ValidateOptions>();
  command.Option("FILE", options->file, "run file, or - for standard input").Path().Required();
  command.Option("--set", options->overrides, "path=value, overrides the file; may be repeated")
      .OneValueEach();
  command
      .Option("--set-file", options->set_files,
              "file with a line path=value for each setting; --set wins over it; may be repeated")
      .Path()
      .OneValueEach();
  commands.Bind(command, [options](Session& session) { return Validate(*options, session); });
}

void AddExplain(CommandSet& commands) {
  const Command command =
      commands.Add("explain", kRunFileGroup, "Explain a key of the run file: type, range, default");
  auto path = std::make_shared<std::string>("run");
  auto schema = std::make_shared<bool>(false);
  command.Option("KEY", *path, "such as optimizer.lr, or run for all of them");
  command.Switch("--json-schema", *schema, "print the JSON Schema for editors");
  commands.Bind(command,
                [path, schema](Session& session) { return Explain(*path, *schema, session); });
}

}  // namespace

void AddRunFileCommands(CommandSet& commands) {
  AddValidate(commands);
  AddExplain(commands);
}

}  // namespace gp::gpctl
