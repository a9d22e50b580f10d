// gpctl init, validate, explain.
#include <memory>
#include <sstream>

#include "base/available_memory.h"
#include "base/file.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/plan_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/run_file_text.h"
#include "runspec/explain.h"
#include "runspec/preset.h"

namespace gp::gpctl {
namespace {

struct InitOptions {
  std::string preset = "tiny";
  std::string path;
  bool list = false;
  bool force = false;
};

struct ValidateOptions {
  std::string file;
  std::vector<std::string> overrides;
};

std::string PresetList() {
  std::string out;
  for (const std::string& name : runspec::PresetNames()) {
    out += fmt::format("{:<22}{}\n", name, runspec::PresetSummary(name));
  }
  return out;
}

// A run file that names the preset and shows, as comments, what the preset sets.
std::string StartingFile(const std::string& preset) {
  std::string out = fmt::format(
      "# {}. Every key: gpctl explain run. Check this file: gpctl validate FILE\n"
      "apiVersion: gp/v1\n"
      "name: {}\n"
      "preset: {}\n"
      "data:\n"
      "  text: [input.txt]  # the text to train on; relative to this file\n"
      "resources: {{workers: 1}}  # ranks; each takes a slot of a worker\n"
      "\n"
      "# What the preset sets. A key written in this file wins, and --set on the command line wins "
      "over both.\n",
      runspec::PresetSummary(preset), preset, preset);
  std::istringstream lines{std::string(runspec::PresetText(preset))};
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) out += (line.starts_with('#') ? "" : "# ") + line + "\n";
  }
  return out;
}

StatusOr<ExitCode> Init(const InitOptions& options, Session& session) {
  Console& console = session.console();
  if (options.list) {
    console.out << PresetList();
    return ExitCode::kOk;
  }
  if (runspec::PresetText(options.preset).empty()) {
    return InvalidArgument("unknown preset '{}'{}\n'gpctl init --list' shows them.", options.preset,
                           DidYouMean(options.preset, runspec::PresetNames()));
  }
  const std::string text = StartingFile(options.preset);
  if (options.path.empty()) {
    console.out << text;
    return ExitCode::kOk;
  }
  const std::string path = AbsolutePath(options.path, console.working_directory);
  if (FileExists(path) && !options.force) {
    return AlreadyExists("{} exists already; --force replaces it", options.path);
  }
  RETURN_IF_ERROR(WriteFileAtomically(path, text));
  console.err << fmt::format("Wrote {}. Next: gpctl validate {}\n", options.path, options.path);
  return ExitCode::kOk;
}

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

void AddInit(CommandSet& commands) {
  const Command command = commands.Add("init", kRunFileGroup, "Write a run file to start from");
  auto options = std::make_shared<InitOptions>();
  command.Option("FILE", options->path, "where to write it (default: standard output)");
  command.Option("--preset", options->preset,
                 "tiny, shakespeare-char, gpt2-124m, ... (default: tiny)");
  command.Switch("--list", options->list, "show the presets");
  command.Switch("--force", options->force, "replace an existing file");
  commands.Bind(command, [options](Session& session) { return Init(*options, session); });
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
  AddInit(commands);
  AddValidate(commands);
  AddExplain(commands);
}

}  // namespace gp::gpctl
