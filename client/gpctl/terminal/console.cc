#include "client/gpctl/terminal/console.h"

#include <pwd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace gp::gpctl {
namespace {

// Returns the home directory of the account; "/" for a user without one, as in containers.
std::string AccountHome() {
  const passwd* account = getpwuid(geteuid());
  const std::string home = account == nullptr ? "" : account->pw_dir;
  return home.starts_with('/') ? home : "/";
}

// Reads the environment. Sets HOME to the account's home if it is unset or relative; otherwise
// gpctl would write files below the working directory.
std::map<std::string, std::string> ReadEnvironment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  std::string& home = variables["HOME"];
  if (!home.starts_with('/')) home = AccountHome();
  return variables;
}

TerminalSize MeasuredSize() {
  winsize measured{};
  TerminalSize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &measured) != 0) return size;
  if (measured.ws_col > 0) size.columns = measured.ws_col;
  if (measured.ws_row > 0) size.rows = measured.ws_row;
  return size;
}

std::string OwnDirectory() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : path.parent_path().string();
}

std::string WorkingDirectory() {
  std::error_code error;
  const auto path = std::filesystem::current_path(error);
  return error ? "/" : path.string();
}

}  // namespace

bool Console::PrintChange(const std::string& text) const {
  out << text << std::flush;
  if (out.good()) return true;
  err << text << std::flush;
  return false;
}

void Console::Warn(const std::vector<std::string>& warnings) const {
  for (const std::string& warning : warnings) {
    err << (warning.starts_with("warning: ") ? "" : "warning: ") << warning
        << (warning.ends_with('\n') ? "" : "\n");
  }
}

std::string Console::Variable(const std::string& name) const {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool Console::Utf8() const {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    locale = Variable(name);
    if (!locale.empty()) break;
  }
  std::transform(locale.begin(), locale.end(), locale.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

bool Console::Animated() const {
  return out_is_terminal && Variable("TERM") != "dumb" && Variable("NO_COLOR").empty() &&
         Variable("GPCTL_NO_COLOR").empty();
}

Console SystemConsole(client::Interruption& interruption) {
  return Console{.in = std::cin,
                 .out = std::cout,
                 .err = std::cerr,
                 .interruption = interruption,
                 .clock = SystemClock(),
                 .environment = ReadEnvironment(),
                 .program_directory = OwnDirectory(),
                 .working_directory = WorkingDirectory(),
                 .in_is_terminal = isatty(STDIN_FILENO) == 1,
                 .out_is_terminal = isatty(STDOUT_FILENO) == 1,
                 .terminal = isatty(STDOUT_FILENO) == 1 ? STDOUT_FILENO : -1,
                 .measured_size = &MeasuredSize};
}

}  // namespace gp::gpctl
