#include "client/api/key_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <variant>

#include "base/yaml_reader.h"
#include "client/api/parent_text.h"

namespace gp::client {
namespace {

std::string ListText(const std::vector<YamlNode>& items);

// A value that is not a map, as one line.
std::string ValueText(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kSequence) return ListText(node.items);
  return node.kind == YamlNode::Kind::kNull ? "null" : node.scalar;
}

std::string ListText(const std::vector<YamlNode>& items) {
  std::string text;
  for (const YamlNode& item : items) text += (text.empty() ? "" : ", ") + ValueText(item);
  return "[" + text + "]";
}

class KeyTable {
 public:
  explicit KeyTable(size_t runs) : runs_(runs) {}

  // Adds the values below `node`, whose path is `path`, of the run with this index.
  void Add(size_t run, const std::string& path, const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kMap) return Put(run, path, ValueText(node));
    for (const YamlEntry& entry : node.entries) {
      Add(run, path.empty() ? entry.key : path + "." + entry.key, entry.value);
    }
  }

  std::vector<KeyDifference> Differences() const {
    std::vector<KeyDifference> differences;
    for (const KeyDifference& row : rows_) {
      const auto differs = [&](const auto& value) { return value != row.values.front(); };
      if (std::any_of(row.values.begin(), row.values.end(), differs)) differences.push_back(row);
    }
    return differences;
  }

 private:
  void Put(size_t run, const std::string& path, std::string value) {
    const auto [found, is_new] = row_of_.try_emplace(path, rows_.size());
    if (is_new) rows_.push_back({path, std::vector<std::optional<std::string>>(runs_)});
    rows_[found->second].values[run] = std::move(value);
  }

  const size_t runs_;
  std::vector<KeyDifference> rows_;
  std::map<std::string, size_t> row_of_;  // by key
};

// Gives the parent as RUN@STEP instead of its directory, with the id where two parents would read
// the same.
void NameParents(std::span<const v1::Run> runs, KeyDifference& init_from) {
  std::map<std::string, std::set<std::string>> paths;  // by RUN@STEP
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].has_parent())
      paths[ParentText(runs[i].parent())].insert(init_from.values[i].value_or(""));
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].has_parent()) continue;
    const std::string text = ParentText(runs[i].parent());
    init_from.values[i] =
        paths[text].size() == 1 ? text : fmt::format("{} ({})", text, runs[i].parent().run_id());
  }
}

}  // namespace

StatusOr<std::vector<KeyDifference>> FindKeyDifferences(std::span<const v1::Run> runs) {
  KeyTable table(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto parsed = ParseYaml(runs[i].resolved(), "run file");
    if (const auto* problem = std::get_if<ConfigProblem>(&parsed)) {
      return Internal("the resolved run file of {} cannot be read, line {}: {}", runs[i].name(),
                      problem->line, problem->message);
    }
    const auto& root = std::get<YamlNode>(parsed);
    if (root.kind == YamlNode::Kind::kMap) table.Add(i, "", root);
  }
  std::vector<KeyDifference> differences = table.Differences();
  for (KeyDifference& difference : differences) {
    if (difference.key == "init_from") NameParents(runs, difference);
  }
  return differences;
}

}  // namespace gp::client
