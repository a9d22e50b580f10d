// gpctl validate, explain.
#include <memory>

#include "base/available_memory.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/plan_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/run_file_text.h"
#include "runspec/explain.h"

namespace gp::gpctl {
namespace {

struct ValidateOptions {
  std::string file;
  std::vector<std::string> overrides;
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

StatusOr<ExitCode> Validate(const ValidateOptions& options, Session& session) {
  Console& console = session.console();
  ASSIGN_OR_RETURN(const RunFileText file, ReadRunFile(options.file, console));
  const runspec::RunFileResult result = CheckRunFile(file, options.overrides, console);
  const AvailableMemory memory = ReadAvailableMemory();
  if (session.json()) {
    Json document = Document("Validation");
    document["valid"] = result.spec.has_value();
    document["problems"] = ProblemList(result.problems);
    document["warnings"] = ProblemList(result.warnings);
    if (result.spec) document["plan"] = PlanFields(*result.spec, memory);
    console.out << Pretty(document);
    return result.spec ? ExitCode::kOk : ExitCode::kUsage;
  }
  if (!result.warnings.empty()) console.err << RenderProblems(result.warnings, "warning");
  if (!result.spec) return ProblemsStatus(result);
  console.out << PlanText(*result.spec, memory);
  if (const auto warning = MemoryWarning(*result.spec, memory)) {
    console.err << "warning: " << *warning << "\n";
  }
  return ExitCode::kOk;
}

StatusOr<ExitCode> Explain(const std::string& path, bool schema, Session& session) {
  if (schema) {
    session.console().out << runspec::JsonSchema() << "\n";
    return ExitCode::kOk;
  }
  const auto text = runspec::Explain(path);
  // A mistyped key is a mistyped argument.
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
  const Command command = commands.Add("validate", kRunFileGroup,
                                       "Check a run file and show the plan; needs no server");
  auto options = std::make_shared<ValidateOptions>();
  command.Option("FILE", options->file, "run file, or - for standard input").Required();
  command.Option("--set", options->overrides, "path=value, overrides the file; may be repeated")
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
