// CommandLine: declares a program's command line and parses it. Only command_line.cc uses CLI11,
// because every source that includes CLI11's header compiles about ten seconds longer. Declared and
// parsed by main's thread.
//
//   CommandLine line("Copies a file.", "copy");
//   line.root().Option("FROM", from, "file to read").Required();
//   if (const auto exit_code = line.Parse(argc, argv)) return *exit_code;
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gp {

// One flag or argument. A light handle; it lives as long as the command line that it belongs to.
class Flag {
 public:
  explicit Flag(CLI::Option& option) : option_(&option) {}

  Flag Required() const;
  // --help shows the value that the bound variable has now.
  Flag ShowDefault() const;
  Flag Default(const std::string& text) const;
  Flag TypeName(const std::string& name) const;  // what --help calls the value: FILE
  Flag Group(const std::string& name) const;     // the heading in --help
  Flag Needs(Flag other) const;
  Flag Excludes(Flag other) const;
  // A list takes one value after each flag: `--set a=1 --set b=2`.
  Flag OneValueEach() const;
  Flag Delimiter(char delimiter) const;

  template <std::integral T>
  Flag Between(T least, T most) const {
    return BetweenIntegers(static_cast<int64_t>(least), static_cast<int64_t>(most));
  }
  Flag Between(double least, double most) const;
  Flag Positive() const;
  Flag NonNegative() const;
  Flag OneOf(const std::vector<std::string>& words) const;
  Flag ExistingFile() const;
  Flag ExistingDirectory() const;
  Flag NotEmpty() const;     // refuses empty text, which a shell passes for "$UNSET"
  Flag Path() const;         // refuses empty text, and addresses such as s3://bucket/x
  Flag SizeInBytes() const;  // reads 500MB (1000) and 64MiB (1024)

  std::string Names() const;                   // "-o,--output"; an argument's is bare
  std::vector<std::string> LongNames() const;  // "--output"; none for an argument
  std::string Text() const;
  bool IsArgument() const;                   // no dashes before its name
  bool TakesValue() const;                   // false for a switch
  std::vector<std::string> Choices() const;  // those of OneOf; empty without it

 private:
  Flag BetweenIntegers(int64_t least, int64_t most) const;

  CLI::Option* option_;
};

// A program or one of its commands. Also a light handle.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  // Binds `value`, which must live until parsing ends. A name without dashes is an argument. T is
  // std::string, int, int64_t, uint64_t, double, or a std::optional or std::vector of them, as
  // instantiated in command_line.cc.
  template <typename T>
  Flag Option(const std::string& name, T& value, const std::string& text = "") const;
  Flag Switch(const std::string& name, bool& value, const std::string& text) const;
  void Alias(const std::string& name) const;    // another name for it
  void Version(const std::string& text) const;  // printed by --version
  void Footer(const std::string& text) const;   // ends --help
  std::optional<Flag> Find(const std::string& name) const;

  Command AddCommand(const std::string& name, const std::string& summary) const;
  void RequireOneCommand() const;
  // Allows at most one command. A later word that is another command's name is then an argument of
  // the first command, as in `help list`.
  void AllowOneCommand() const;
  // Leaves everything after the command's name unparsed, for another program; see Remaining.
  void AllowTrailingArguments() const;
  std::vector<std::string> Remaining() const;

  void Group(const std::string& name) const;  // the heading in --help
  std::string Name() const;
  std::string Group() const;
  std::string Summary() const;
  bool IsCalled(const std::string& word) const;  // by its name or an alias
  std::optional<Command> Parent() const;
  // In the order in which they were added; --help comes first among the flags.
  std::vector<Command> Commands() const;
  std::vector<Flag> Flags() const;
  // The text of --help. The usage line shows `prefix` before the command's name.
  std::string Help(const std::string& prefix = "") const;
  // The innermost command on the command line: for a command and its verb, the verb. This command
  // if the words name no subcommand.
  Command Chosen() const;

  // Handles of one command are equal. The order is arbitrary: it makes them keys of a map.
  auto operator<=>(const Command&) const = default;

 private:
  CLI::App* app_;
};

// The result of TryParse. The program writes the message itself.
struct ParseOutcome {
  enum class Kind {
    kParsed,
    kHelpWanted,
    kUnexpectedWords,  // words that no flag or argument takes: `unexpected`
    kError,            // any other error: `message`
  };
  Kind kind = Kind::kParsed;
  std::string message;  // CLI11's message
  std::vector<std::string> unexpected;
};

class CommandLine {
 public:
  // --help shows `name`, or the program's path as it was called if `name` is empty.
  explicit CommandLine(const std::string& description, const std::string& name = "");
  ~CommandLine();

  Command root() const { return Command(*app_); }

  // Nullopt if the program should continue. Otherwise the exit code: 0 after --help and --version,
  // 2 when the words cannot be parsed. The text is already on `out` or `err`.
  std::optional<int> Parse(int argc, const char* const* argv, std::ostream& out = std::cout,
                           std::ostream& err = std::cerr) const;
  // Prints nothing. `words` does not contain the program's name. Chosen() returns the command, even
  // after a failure. REQUIRES: no Version().
  ParseOutcome TryParse(const std::vector<std::string>& words) const;
  // The command that was given; REQUIRES: RequireOneCommand and a successful Parse.
  std::string Given() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace gp
