#include "base/command_line.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "base/exit_code.h"
#include "base/local_path.h"

namespace gp {
namespace {

// CLI::Range accepts NaN, because no comparison excludes it.
std::string RefuseNan(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is not a number" : "";
}

}  // namespace

Flag Flag::Required() const {
  option_->required();
  return *this;
}

Flag Flag::ShowDefault() const {
  option_->capture_default_str();
  return *this;
}

Flag Flag::Default(const std::string& text) const {
  option_->run_callback_for_default()->default_val(text);
  return *this;
}

Flag Flag::TypeName(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Flag Flag::Group(const std::string& name) const {
  option_->group(name);
  return *this;
}

Flag Flag::Needs(Flag other) const {
  option_->needs(other.option_);
  return *this;
}

Flag Flag::Excludes(Flag other) const {
  option_->excludes(other.option_);
  return *this;
}

Flag Flag::OneValueEach() const {
  option_->allow_extra_args(false);
  return *this;
}

Flag Flag::Delimiter(char delimiter) const {
  option_->delimiter(delimiter);
  return *this;
}

Flag Flag::BetweenIntegers(int64_t least, int64_t most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}

Flag Flag::Between(double least, double most) const {
  option_->check(CLI::Range(least, most))->check(&RefuseNan);
  return *this;
}

Flag Flag::Positive() const {
  option_->check(CLI::PositiveNumber)->check(&RefuseNan);
  return *this;
}

Flag Flag::NonNegative() const {
  option_->check(CLI::NonNegativeNumber)->check(&RefuseNan);
  return *this;
}

Flag Flag::OneOf(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return *this;
}

Flag Flag::ExistingFile() const {
  option_->check(CLI::ExistingFile);
  return *this;
}

Flag Flag::ExistingDirectory() const {
  option_->check(CLI::ExistingDirectory);
  return *this;
}

Flag Flag::NotEmpty() const {
  option_->check([](const std::string& text) { return text.empty() ? "the value is empty" : ""; });
  return *this;
}

Flag Flag::Path() const {
  NotEmpty();
  option_->check([](const std::string& text) { return Message(CheckLocalPath(text)); });
  return *this;
}

Flag Flag::SizeInBytes() const {
  option_->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  return *this;
}

std::string Flag::Names() const {
  return option_->get_name(/*positional=*/false, /*all_options=*/true);
}

std::vector<std::string> Flag::LongNames() const {
  std::vector<std::string> names;
  for (const std::string& name : option_->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string Flag::Text() const { return option_->get_description(); }

bool Flag::IsArgument() const { return option_->get_positional(); }

bool Flag::TakesValue() const { return option_->get_items_expected_max() > 0; }

// CLI11 describes OneOf as "TEXT:{text,json}".
std::vector<std::string> Flag::Choices() const {
  const std::string type = option_->get_type_name();
  const size_t begin = type.find('{');
  const size_t end = type.rfind('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos || end < begin) return choices;
  std::stringstream words(type.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(words, word, ',');) choices.push_back(word);
  return choices;
}

template <typename T>
Flag Command::Option(const std::string& name, T& value, const std::string& text) const {
  return Flag(*app_->add_option(name, value, text));
}

template Flag Command::Option(const std::string&, std::string&, const std::string&) const;
template Flag Command::Option(const std::string&, int&, const std::string&) const;
template Flag Command::Option(const std::string&, int64_t&, const std::string&) const;
template Flag Command::Option(const std::string&, uint64_t&, const std::string&) const;
template Flag Command::Option(const std::string&, double&, const std::string&) const;
template Flag Command::Option(const std::string&, std::optional<std::string>&,
                              const std::string&) const;
template Flag Command::Option(const std::string&, std::optional<int>&, const std::string&) const;
template Flag Command::Option(const std::string&, std::optional<int64_t>&,
                              const std::string&) const;
template Flag Command::Option(const std::string&, std::optional<double>&, const std::string&) const;
template Flag Command::Option(const std::string&, std::vector<std::string>&,
                              const std::string&) const;
template Flag Command::Option(const std::string&, std::vector<int>&, const std::string&) const;

Flag Command::Switch(const std::string& name, bool& value, const std::string& text) const {
  return Flag(*app_->add_flag(name, value, text));
}

void Command::Alias(const std::string& name) const { app_->alias(name); }

void Command::Version(const std::string& text) const { app_->set_version_flag("--version", text); }

void Command::Footer(const std::string& text) const { app_->footer(text); }

std::optional<Flag> Command::Find(const std::string& name) const {
  CLI::Option* option = app_->get_option_no_throw(name);
  if (option == nullptr) return std::nullopt;
  return Flag(*option);
}

Command Command::AddCommand(const std::string& name, const std::string& summary) const {
  return Command(*app_->add_subcommand(name, summary));
}

void Command::RequireOneCommand() const { app_->require_subcommand(1); }

void Command::AllowOneCommand() const { app_->require_subcommand(0, 1); }

void Command::AllowTrailingArguments() const { app_->prefix_command(); }

std::vector<std::string> Command::Remaining() const { return app_->remaining(); }

void Command::Group(const std::string& name) const { app_->group(name); }

std::string Command::Name() const { return app_->get_name(); }

std::string Command::Group() const { return app_->get_group(); }

std::string Command::Summary() const { return app_->get_description(); }

bool Command::IsCalled(const std::string& word) const { return app_->check_name(word); }

std::optional<Command> Command::Parent() const {
  CLI::App* parent = app_->get_parent();
  if (parent == nullptr) return std::nullopt;
  return Command(*parent);
}

std::vector<Command> Command::Commands() const {
  std::vector<Command> commands;
  for (CLI::App* command : app_->get_subcommands(nullptr)) commands.emplace_back(*command);
  return commands;
}

std::vector<Flag> Command::Flags() const {
  std::vector<Flag> flags;
  for (CLI::Option* option : app_->get_options(nullptr)) flags.emplace_back(*option);
  return flags;
}

std::string Command::Help(const std::string& prefix) const { return app_->help(prefix); }

Command Command::Chosen() const {
  CLI::App* at = app_;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return Command(*at);
}

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : app_(std::make_unique<CLI::App>(description, name)) {}

CommandLine::~CommandLine() = default;

std::optional<int> CommandLine::Parse(int argc, const char* const* argv, std::ostream& out,
                                      std::ostream& err) const {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error, out, err) == 0 ? ProcessStatus(ExitCode::kOk)
                                            : ProcessStatus(ExitCode::kUsage);
  }
}

ParseOutcome CommandLine::TryParse(const std::vector<std::string>& words) const {
  using Kind = ParseOutcome::Kind;
  std::vector<std::string> reversed(words.rbegin(),
                                    words.rend());  // CLI11 expects the last word first
  try {
    app_->parse(reversed);
    return {.kind = Kind::kParsed};
  } catch (const CLI::CallForHelp&) {
    return {.kind = Kind::kHelpWanted};
  } catch (const CLI::ExtrasError& error) {
    return {.kind = Kind::kUnexpectedWords,
            .message = error.what(),
            .unexpected = app_->remaining(/*recurse=*/true)};
  } catch (const CLI::ParseError& error) {
    return {.kind = Kind::kError, .message = error.what()};
  }
}

std::string CommandLine::Given() const { return app_->get_subcommands().front()->get_name(); }

}  // namespace gp
