#include "base/text/shell_word.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace gp {
namespace {

bool IsPlain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("@%_-+=:,./").find(c) != std::string_view::npos;
}

}  // namespace

std::string ShellWord(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace gp
