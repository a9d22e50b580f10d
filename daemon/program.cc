#include "daemon/program.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <iostream>
#include <optional>
#include <variant>

#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stop_signals.h"
#include "daemon/settings_page.h"
#include "daemon/settings_reader.h"

namespace gp::daemon {
namespace {

constexpr size_t kConfigBytesMax = 1 << 20;

// A setting that was given as a flag.
struct GivenFlag {
  const Setting* setting;
  std::string text;
};

struct CommandLine {
  std::string config;
  std::string address_file;
  std::optional<std::string> explain;  // a key; empty: all
  bool check_config = false;
  bool version = false;
  std::vector<GivenFlag> flags;
  const Report* report = nullptr;
};

// Without its full stop, as --help writes everything.
std::string FirstSentence(const std::string& doc) {
  const std::string sentence = doc.substr(0, doc.find(". "));
  return sentence.ends_with('.') ? sentence.substr(0, sentence.size() - 1) : sentence;
}

std::vector<Report> AllReports(const Program& program) {
  std::vector<Report> reports = {
      {"--print-metrics", "Print the metrics it exports and leave",
       [&program]() -> StatusOr<std::string> { return program.metrics(); }}};
  reports.insert(reports.end(), program.reports.begin(), program.reports.end());
  return reports;
}

void DeclareSettings(const Settings& settings, CLI::App& app, CommandLine& line) {
  for (const Setting& setting : settings) {
    if (setting.flag.empty()) continue;
    const auto give = [&line, given = &setting](const std::string& text) {
      line.flags.push_back({given, text});
    };
    const std::string doc = FirstSentence(setting.field.doc);
    if (std::holds_alternative<bool*>(setting.slot)) {
      app.add_flag_callback(
          setting.flag, [give] { give("true"); }, doc);
    } else {
      app.add_option_function<std::string>(setting.flag, give, doc)->type_name(setting.value_name);
    }
  }
}

void Declare(const Program& program, const std::vector<Report>& reports, CLI::App& app,
             CommandLine& line) {
  app.add_option("--config", line.config, "Settings file; --explain lists its keys")
      ->type_name("FILE");
  DeclareSettings(program.settings, app, line);
  app.add_option("--address-file", line.address_file,
                 "Written once it serves: address, metrics, pid as JSON")
      ->type_name("FILE");
  const auto explain = [&line](const std::string& key) { line.explain = key; };
  app.add_option_function<std::string>("--explain", explain,
                                       "Explain a setting, a group of them, or all, and leave")
      ->type_name("[KEY]")
      ->expected(0, 1);
  app.add_flag("--check-config", line.check_config, "Check settings and leave");
  for (const Report& report : reports) {
    app.add_flag_callback(
        report.flag, [&line, &report] { line.report = &report; }, report.doc);
  }
  app.add_flag("--version", line.version, "Print the version and leave");
  app.footer("Every setting may also be an environment variable: state.dir is " +
             VariableOf(program.name, "state.dir") +
             ".\nFlags win over the environment, the environment over the file.");
}

// The exit code when there is nothing more to do.
std::optional<ExitCode> Parse(CLI::App& app, const Call& call) {
  std::vector<std::string> backwards(call.arguments.rbegin(), call.arguments.rend());
  try {
    app.parse(backwards);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // --help
    app.exit(error, call.out, call.err);
    return asked ? ExitCode::kOk : ExitCode::kUsage;
  }
}

void Append(std::vector<ConfigProblem> more, std::vector<ConfigProblem>& problems) {
  std::move(more.begin(), more.end(), std::back_inserter(problems));
}

std::vector<ConfigProblem> ReadFlags(const CommandLine& line) {
  std::vector<ConfigProblem> problems;
  for (const GivenFlag& given : line.flags) {
    Append(ReadSettingText(given.text, given.setting->flag, *given.setting), problems);
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

// Reads all sources; false when there were problems, which were told.
bool ReadSettings(const Program& program, const CommandLine& line, const Call& call) {
  std::vector<ConfigProblem> warnings;
  std::vector<ConfigProblem> problems = ReadConfig(line.config, program.settings);
  Append(ReadSettingsEnvironment(call.environment, program.name, program.settings, warnings),
         problems);
  Append(ReadFlags(line), problems);
  if (!warnings.empty()) call.err << RenderProblems(warnings, "warning");
  if (!problems.empty()) call.err << RenderProblems(problems);
  return problems.empty();
}

// Whether the daemon can run with these settings; what is wrong was told.
bool CheckSettings(const Program& program, const Call& call) {
  const std::vector<ConfigProblem> missing = FindMissingSettings(program.name, program.settings);
  if (!missing.empty()) {
    call.err << RenderProblems(missing);
    return false;
  }
  const Status status = program.check ? program.check() : OkStatus();
  if (!status.ok()) call.err << "error: " << Message(status) << "\n";
  return status.ok();
}

// Prints what was asked for.
ExitCode Print(const StatusOr<std::string>& text, ExitCode failure, const std::string& program,
               const Call& call) {
  if (!text.ok()) {
    call.err << program << ": " << Message(text.status()) << "\n";
    return failure;
  }
  call.out << *text;
  return ExitCode::kOk;
}

ExitCode Run(const Program& program, const CommandLine& line, const Call& call) {
  signal(SIGPIPE, SIG_IGN);
  BlockStopSignals();
  InitLogging(program.name);
  const Status status = program.run({.address_file = line.address_file});
  if (status.ok()) return ExitCode::kOk;
  call.err << program.name << ": " << Message(status) << "\n";
  return ExitCode::kFailure;
}

ExitCode Serve(const Program& program, const Call& call) {
  CLI::App app(program.name + ": " + program.summary, program.name);
  CommandLine line;
  const std::vector<Report> reports = AllReports(program);
  Declare(program, reports, app, line);
  if (const auto code = Parse(app, call)) return *code;
  if (line.version)
    return Print(program.name + " " + program.version + "\n", ExitCode::kFailure, program.name,
                 call);
  if (line.explain) {
    return Print(ExplainSettings(program.name, program.settings, *line.explain), ExitCode::kUsage,
                 program.name, call);
  }
  if (!ReadSettings(program, line, call)) return ExitCode::kUsage;
  if (line.report != nullptr) {
    return Print(line.report->text(), ExitCode::kFailure, program.name, call);
  }
  if (!CheckSettings(program, call)) return ExitCode::kUsage;
  if (line.check_config)
    return Print(std::string("settings are good\n"), ExitCode::kFailure, program.name, call);
  return Run(program, line, call);
}

}  // namespace

int Main(const Program& program, const Call& call) { return ProcessStatus(Serve(program, call)); }

int Main(const Program& program, int argc, const char* const* argv) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return Main(program, {.arguments = {argv + 1, argv + argc},
                        .environment = std::move(environment),
                        .out = std::cout,
                        .err = std::cerr});
}

}  // namespace gp::daemon
