#include "daemon/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <iostream>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/command_line.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "base/machine/open_files.h"
#include "base/standard_output.h"
#include "base/stop_signals.h"
#include "daemon/settings_page.h"
#include "daemon/settings_reader.h"

namespace gp::daemon {
namespace {

constexpr size_t kConfigBytesMax = 1 << 20;

// A setting's flag, and its value.
struct SettingFlag {
  const Setting* setting;
  std::optional<std::string> text;
  std::vector<std::string> list;  // values of a list setting: one for each time the flag was given
  bool is_set = false;            // whether a flag without a value was given
};

struct ReportFlag {
  Report report;
  bool is_set = false;
};

struct ActionFlag {
  PathAction action;
  std::optional<std::string> value;
};

struct Flags {
  std::string config;
  std::string address_file;
  std::optional<std::string> explain;  // a key, a group or kAllSettings
  bool check_config = false;
  std::deque<SettingFlag> settings;  // deques: the parser keeps pointers to the elements
  std::deque<ReportFlag> reports;
  std::deque<ActionFlag> actions;
};

constexpr char kAllSettings[] = "all";

// The first sentence without its full stop, as in all texts of --help.
std::string FirstSentence(const std::string& doc) {
  const std::string sentence = doc.substr(0, doc.find(". "));
  return sentence.ends_with('.') ? sentence.substr(0, sentence.size() - 1) : sentence;
}

void DeclareSettings(const Settings& settings, const Command& command, Flags& flags) {
  for (const Setting& setting : settings) {
    if (setting.flag.empty()) continue;
    SettingFlag& flag = flags.settings.emplace_back(SettingFlag{&setting});
    const std::string doc = FirstSentence(setting.field.doc);
    if (std::holds_alternative<bool*>(setting.slot)) {
      command.Switch(setting.flag, flag.is_set, doc);
    } else if (std::holds_alternative<std::vector<std::string>*>(setting.slot)) {
      command.Option(setting.flag, flag.list, doc).TypeName(setting.value_name).OneValueEach();
    } else {
      command.Option(setting.flag, flag.text, doc).TypeName(setting.value_name);
    }
  }
}

void DeclareReports(const Program& program, const Command& command, Flags& flags) {
  flags.reports.push_back({{"--print-metrics", "Print the exported metrics and exit",
                            [&program]() -> StatusOr<std::string> { return program.metrics(); }}});
  for (const Report& report : program.reports) flags.reports.push_back({report});
  for (ReportFlag& flag : flags.reports) {
    command.Switch(flag.report.flag, flag.is_set, flag.report.doc);
  }
}

void DeclareActions(const Program& program, const Command& command, Flags& flags) {
  for (const PathAction& action : program.actions) {
    ActionFlag& flag = flags.actions.emplace_back(ActionFlag{action, {}});
    command.Option(action.flag, flag.value, action.doc).TypeName(action.value_name).Path();
  }
}

void Declare(const Program& program, const Command& command, Flags& flags) {
  command.Option("--config", flags.config, "Settings file; --explain all lists its keys")
      .Path()
      .TypeName("FILE");
  DeclareSettings(program.settings, command, flags);
  command
      .Option("--address-file", flags.address_file,
              "Write the addresses and pid here, as JSON, once ready")
      .Path()
      .TypeName("FILE");
  command.Option("--explain", flags.explain, "Explain a setting, a group of them, or all, and exit")
      .TypeName("KEY");
  for (const Switch& one : program.switches) command.Switch(one.flag, *one.is_set, one.doc);
  command.Switch("--check-config", flags.check_config, "Check settings and exit");
  DeclareReports(program, command, flags);
  DeclareActions(program, command, flags);
  command.Version(program.name + " " + program.version);
  command.Footer("Every setting may also be an environment variable: state.dir is " +
                 VariableOf(program.name, "state.dir") +
                 ".\nFlags win over the environment, the environment over the file.");
}

// Returns the exit code when there is nothing more to do.
std::optional<int> Parse(const CommandLine& line, const Program& program, const Call& call) {
  std::vector<const char*> words = {program.name.c_str()};
  for (const std::string& argument : call.arguments) words.push_back(argument.c_str());
  return line.Parse(static_cast<int>(words.size()), words.data(), call.out, call.err);
}

void Append(std::vector<ConfigProblem> more, std::vector<ConfigProblem>& problems) {
  std::move(more.begin(), more.end(), std::back_inserter(problems));
}

// A list as YAML: [a, 'b: c'].
std::string ListText(const std::vector<std::string>& elements) {
  std::string text;
  for (const std::string& element : elements) {
    text += (text.empty() ? "[" : ", ") + runspec::YamlScalar(element);
  }
  return text + "]";
}

std::vector<ConfigProblem> ReadFlags(const Flags& flags) {
  std::vector<ConfigProblem> problems;
  for (const SettingFlag& flag : flags.settings) {
    auto text = flag.is_set ? std::optional<std::string>("true") : flag.text;
    if (!flag.list.empty()) text = ListText(flag.list);
    if (text) Append(ReadSettingText(*text, flag.setting->flag, *flag.setting), problems);
  }
  return problems;
}

std::vector<ConfigProblem> ReadConfig(const std::string& path, const Settings& settings) {
  if (path.empty()) return {};
  const auto text = ReadFile(path, kConfigBytesMax);
  if (text.ok()) return ReadSettingsFile(*text, path, settings);
  ConfigProblem unreadable;
  unreadable.source = "--config";
  unreadable.message = Message(text.status());
  return {unreadable};
}

// Reads the settings from all sources and prints the problems. False if there were errors.
bool ReadSettings(const Program& program, const Flags& flags, const Call& call) {
  std::vector<ConfigProblem> warnings;
  std::vector<ConfigProblem> problems = ReadConfig(flags.config, program.settings);
  Append(ReadSettingsEnvironment(call.environment, program.name, program.settings, warnings),
         problems);
  Append(ReadFlags(flags), problems);
  if (!warnings.empty()) call.err << RenderProblems(warnings, "warning");
  if (!problems.empty()) call.err << RenderProblems(problems);
  return problems.empty();
}

// Checks whether the daemon can run with these settings, and prints the problems.
ExitCode CheckSettings(const Program& program, const Call& call) {
  const std::vector<ConfigProblem> missing = FindMissingSettings(program.name, program.settings);
  if (!missing.empty()) {
    call.err << RenderProblems(missing);
    return ExitCode::kUsage;
  }
  const Status status = program.check ? program.check() : OkStatus();
  if (!status.ok()) call.err << "error: " << Message(status) << "\n";
  return ExitCodeOf(status);
}

// Prints the requested text.
ExitCode Print(const StatusOr<std::string>& text, ExitCode failure, const std::string& program,
               const Call& call) {
  if (!text.ok()) {
    call.err << program << ": " << Message(text.status()) << "\n";
    return failure;
  }
  call.out << *text;
  return ExitCode::kOk;
}

ExitCode Run(const Program& program, const Flags& flags, const Call& call) {
  signal(SIGXFSZ, SIG_IGN);  // beyond the file size limit, write() fails instead
  BlockStopSignals();
  InitLogging(program.name);
  Status status = AllowManyOpenFiles();
  if (status.ok()) status = program.run({.address_file = flags.address_file});
  if (status.ok()) return ExitCode::kOk;
  call.err << program.name << ": " << Message(status) << "\n";
  return ExitCode::kFailure;
}

const Report* AskedFor(const Flags& flags) {
  const auto found = std::find_if(flags.reports.begin(), flags.reports.end(),
                                  [](const ReportFlag& flag) { return flag.is_set; });
  return found == flags.reports.end() ? nullptr : &found->report;
}

const ActionFlag* ActionAskedFor(const Flags& flags) {
  const auto found = std::find_if(flags.actions.begin(), flags.actions.end(),
                                  [](const ActionFlag& flag) { return flag.value.has_value(); });
  return found == flags.actions.end() ? nullptr : &*found;
}

// The given flags among those that perform one task and exit.
std::vector<std::string> TasksAskedFor(const Flags& flags) {
  std::vector<std::string> given;
  if (flags.explain) given.emplace_back("--explain");
  if (flags.check_config) given.emplace_back("--check-config");
  for (const ReportFlag& flag : flags.reports) {
    if (flag.is_set) given.push_back(flag.report.flag);
  }
  for (const ActionFlag& flag : flags.actions) {
    if (flag.value) given.push_back(flag.action.flag);
  }
  return given;
}

StatusOr<std::string> Explain(const Program& program, const std::string& key) {
  return ExplainSettings(program.name, program.settings, key == kAllSettings ? "" : key);
}

ExitCode Follow(const Program& program, const Flags& flags, const Call& call) {
  if (const auto given = TasksAskedFor(flags); given.size() > 1) {
    call.err << fmt::format("{}: {} cannot be used together; give one of them\n", program.name,
                            fmt::join(given, " and "));
    return ExitCode::kUsage;
  }
  if (flags.explain) {
    return Print(Explain(program, *flags.explain), ExitCode::kUsage, program.name, call);
  }
  if (!ReadSettings(program, flags, call)) return ExitCode::kUsage;
  if (const Report* report = AskedFor(flags)) {
    return Print(report->text(), ExitCode::kFailure, program.name, call);
  }
  if (const ActionFlag* asked = ActionAskedFor(flags)) {
    InitLogging(program.name);
    return Print(asked->action.run(*asked->value), ExitCode::kFailure, program.name, call);
  }
  if (const ExitCode code = CheckSettings(program, call); code != ExitCode::kOk) return code;
  if (!flags.check_config) return Run(program, flags, call);
  call.out << "settings are valid\n";
  return ExitCode::kOk;
}

}  // namespace

int Main(const Program& program, const Call& call) {
  const CommandLine line(program.name + ": " + program.summary, program.name);
  Flags flags;
  Declare(program, line.root(), flags);
  if (const auto code = Parse(line, program, call)) return *code;
  return ProcessStatus(Follow(program, flags, call));
}

int Main(const Program& program, int argc, const char* const* argv) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  signal(SIGPIPE, SIG_IGN);  // on a closed pipe, write() fails instead
  StandardOutput output;
  const int code = Main(program, {.arguments = {argv + 1, argv + argc},
                                  .environment = std::move(environment),
                                  .out = std::cout,
                                  .err = std::cerr});
  return output.Finish(program.name, code);
}

}  // namespace gp::daemon
