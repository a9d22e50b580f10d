#include "runspec/document_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text/excerpt.h"
#include "runspec/key_suggestion.h"

namespace gp::runspec {
namespace {

int WidthOf(const YamlEntry& entry) { return static_cast<int>(entry.key.size()); }

}  // namespace

void DocumentReader::ReadGroup(const std::string& path, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kNull) return;
  if (node.kind != YamlNode::Kind::kMap) {
    const std::string what =
        path.empty() ? name_ + " is a map of keys" : path + " is a group of keys";
    return Report(node.mark, 1, path, fmt::format("{}, not {}", what, Describe(node.kind)),
                  key_list_ + " lists the keys");
  }
  std::map<std::string, int> lines;  // where each key was seen first
  for (const YamlEntry& entry : node.entries) {
    const std::string key = path.empty() ? entry.key : path + "." + entry.key;
    const auto [first, fresh] = lines.emplace(entry.key, entry.key_mark.line);
    if (fresh) {
      ReadEntry(key, entry);
    } else {
      Report(entry.key_mark, WidthOf(entry), key, fmt::format("'{}' is given twice", Excerpt(key)),
             fmt::format("first on line {}; keep one", first->second));
    }
  }
}

std::string DocumentReader::DidYouMean(const std::string& path) const {
  if (problems_.full()) return "";
  const std::string suggestion = SuggestKey(path, fields_);
  return suggestion.empty() ? "" : fmt::format("did you mean '{}'?", suggestion);
}

void DocumentReader::ReadEntry(const std::string& path, const YamlEntry& entry) {
  if (IsKey(path)) {
    ReadKey(path, entry);
  } else if (IsGroup(path)) {
    EnterGroup(path, entry);
    ReadGroup(path, entry.value);
  } else {
    Report(entry.key_mark, WidthOf(entry), path, fmt::format("unknown key '{}'", Excerpt(path)),
           DidYouMean(path));
  }
}

bool DocumentReader::IsKey(const std::string& path) const {
  return std::any_of(fields_.begin(), fields_.end(),
                     [&](const Field* field) { return field->path == path; });
}

bool DocumentReader::IsGroup(const std::string& path) const {
  const std::string prefix = path + ".";
  return std::any_of(fields_.begin(), fields_.end(),
                     [&](const Field* field) { return field->path.starts_with(prefix); });
}

}  // namespace gp::runspec
