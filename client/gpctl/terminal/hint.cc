#include "client/gpctl/terminal/hint.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/text/shell_word.h"

namespace gp::gpctl {
namespace {

constexpr char kName[] = "gpctl";

bool SameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

}  // namespace

std::string FoundOnPath(const Console& console, const std::string& name) {
  std::istringstream directories(console.Variable("PATH"));
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string program = AbsolutePath(JoinPath(directory, name), console.working_directory);
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

std::string ProgramWord(const Console& console) {
  const std::string program = JoinPath(console.program_directory, kName);
  const std::string found = FoundOnPath(console, kName);
  if (!found.empty() && SameFile(found, program)) return kName;
  const std::string below = JoinPath(console.working_directory, "");
  if (!program.starts_with(below)) return ShellWord(program);
  const std::string relative = program.substr(below.size());
  return ShellWord(relative == kName ? "./" + relative : relative);
}

std::string FreeRunFileName(const Console& console) {
  std::string name = "run.yaml";
  for (int i = 2; FileExists(JoinPath(console.working_directory, name)); ++i) {
    name = fmt::format("run-{}.yaml", i);
  }
  return name;
}

std::string NextText(const std::vector<std::string>& commands) {
  std::string text;
  for (const std::string& command : commands) {
    text += fmt::format("{:<13}{}\n", text.empty() ? "next" : "", command);
  }
  return text;
}

}  // namespace gp::gpctl
