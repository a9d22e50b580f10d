// ConfigProblem: one problem of a configuration, with its place, what was expected and the nearest
// valid alternative. Readers of run files and of the programs' settings collect all of them in
// ConfigProblems and print them at once. A problem's texts are always short: long lines and values
// are cut, and a long list ends in a count. Values and pure functions; thread-safe.
#pragma once

#include <cstddef>
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
  std::string hint;        // how to solve it: "did you mean 'optimizer.lr'?"; may be empty
  std::string excerpt;     // the line; a long one is cut, with "…" at the cut
  int excerpt_column = 0;  // 1-based; the character of `excerpt` at which `column` points
  // More than 1 in the last element of a long list, which represents all unlisted ones.
  size_t count = 1;

  bool operator==(const ConfigProblem&) const = default;
};

// A place in a text as a parser counts: lines and bytes.
struct TextPlace {
  int line = 1;    // 1-based
  int column = 1;  // 1-based, in bytes
  int width = 1;   // bytes
};

// Writes where `place` is in `text` into `problem`: line, column, width and the excerpt.
void PointAt(std::string_view text, const TextPlace& place, ConfigProblem& problem);

// Collects the problems of one configuration: keeps the first ones, and counts the others.
class ConfigProblems {
 public:
  static constexpr size_t kListedMax = 100;

  // Cuts long texts. Only counts the problem when the list is full.
  void Add(ConfigProblem problem);

  bool empty() const { return listed_.empty(); }
  // The list takes no more problems and only counts them, so callers can skip the search for hints.
  bool full() const { return listed_.size() >= kListedMax; }
  const std::vector<ConfigProblem>& listed() const { return listed_; }

  // The list; if it was too short for all, a last element says how many more there are.
  std::vector<ConfigProblem> Take();

 private:
  std::vector<ConfigProblem> listed_;
  size_t unlisted_count_ = 0;
};

// The number of all problems, including those that the list only counts.
size_t CountProblems(const std::vector<ConfigProblem>& problems);

// Formats the problems for people, one block per problem:
//   error: run.yaml:14:3: unknown key 'optimizer.learning_rate'
//      14 |   learning_rate: 6e-4
//         |   ^^^^^^^^^^^^^ did you mean 'optimizer.lr'?
// `severity` is "error" or "warning". At most `count_max` are printed, the rest are counted.
std::string RenderProblems(const std::vector<ConfigProblem>& problems,
                           std::string_view severity = "error", size_t count_max = 20);

}  // namespace gp
