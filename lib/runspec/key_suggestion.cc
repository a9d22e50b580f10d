#include "runspec/key_suggestion.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text/nearest_word.h"

namespace gp::runspec {
namespace {

std::string Leaf(std::string_view path) { return std::string(path.substr(path.rfind('.') + 1)); }

// The first key in the group `parent` ("optimizer.", or "" for any) that has the name `leaf` in
// other tools.
std::string CalledElsewhere(const std::string& leaf, const std::string& parent,
                            const Fields& fields) {
  for (const Field* field : fields) {
    const bool called =
        std::find(field->also.begin(), field->also.end(), leaf) != field->also.end();
    if (called && field->path.starts_with(parent)) return field->path;
  }
  return "";
}

// The words that may follow `parent`: its keys, and at the top the groups too.
std::vector<std::string> WordsAfter(const std::string& parent, const Fields& fields) {
  std::vector<std::string> words;
  for (const Field* field : fields) {
    if (!field->path.starts_with(parent)) continue;
    const std::string rest = field->path.substr(parent.size());
    words.push_back(rest.substr(0, rest.find('.')));
  }
  return words;
}

std::string SameWordElsewhere(const std::string& leaf, const Fields& fields) {
  for (const Field* field : fields) {
    if (Leaf(field->path) == leaf) return field->path;
  }
  return "";
}

std::string NearestOfAll(const std::string& path, const Fields& fields) {
  std::vector<std::string> paths;
  for (const Field* field : fields) paths.push_back(field->path);
  return NearestWord(path, paths).value_or("");
}

}  // namespace

std::string SuggestKey(const std::string& path, const Fields& fields) {
  const std::string leaf = Leaf(path), parent = path.substr(0, path.size() - leaf.size());
  if (std::string key = CalledElsewhere(leaf, parent, fields); !key.empty()) return key;
  if (const auto word = NearestWord(leaf, WordsAfter(parent, fields))) return parent + *word;
  if (std::string key = SameWordElsewhere(leaf, fields); !key.empty()) return key;
  if (std::string key = CalledElsewhere(leaf, "", fields); !key.empty()) return key;
  return NearestOfAll(path, fields);
}

}  // namespace gp::runspec
