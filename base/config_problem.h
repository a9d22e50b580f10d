// ConfigProblem: one thing wrong in a configuration, with its place, what was expected and the
// nearest thing that would work. Readers of run files and of the programs' settings collect all of
// them and print them at once. Values and pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gp {

struct ConfigProblem {
  std::string source;  // the file's name as the user gave it, or "--set optimizer.lr"
  int line = 0;        // 1-based; 0: the source has no lines
  int column = 0;      // 1-based, in characters
  int width = 1;       // characters to underline
  std::string key;     // the path of the key, when there is one
  std::string message;
  std::string hint;         // the way out: "did you mean 'optimizer.lr'?"; may be empty
  std::string source_line;  // the line itself; empty when line is 0

  bool operator==(const ConfigProblem&) const = default;
};

// For people, one block a problem:
//   error: run.yaml:14:3: unknown key 'optimizer.learning_rate'
//      14 |   learning_rate: 6e-4
//         |   ^^^^^^^^^^^^^ did you mean 'optimizer.lr'?
// `severity` is "error" or "warning". At most `count_max` are printed, the rest are counted.
std::string RenderProblems(const std::vector<ConfigProblem>& problems,
                           std::string_view severity = "error", size_t count_max = 20);

// Line `line` (1-based) of `text` without its end; empty when there is no such line.
std::string LineOf(std::string_view text, int line);

}  // namespace gp
