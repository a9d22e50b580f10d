// YamlNode: a YAML document as a tree whose nodes and keys have their line and column, for error
// messages. Scalars stay text: the reader of a key decides its type. Anchors, aliases and tags are
// refused (a configuration needs none, and aliases can make a small file huge). Limits: 4 MiB of
// text, 32 levels, 50,000 values, one document. Values; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/config_problem.h"

namespace gp {

struct YamlMark {
  int line = 0;    // 1-based
  int column = 0;  // 1-based, in bytes
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };

  Kind kind = Kind::kNull;
  YamlMark mark;
  std::string scalar;
  bool quoted = false;          // "1" and '1' are text where 1 would be a number
  std::vector<YamlNode> items;  // the elements of a sequence
  // The entries of a map, in the order of the file, duplicates included.
  std::vector<YamlEntry> entries;

  // The value of the first entry with this key; nullptr if there is none or this is not a map.
  const YamlNode* Find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  YamlMark key_mark;
  YamlNode value;
};

// The words a message uses: "a list", "a map", "a single value", "nothing".
std::string_view Describe(YamlNode::Kind kind);

// The document, or the one problem that keeps it from being read. Empty text is a null node.
// `source` names the text in the problem.
std::variant<YamlNode, ConfigProblem> ParseYaml(std::string_view text, std::string_view source);

}  // namespace gp
