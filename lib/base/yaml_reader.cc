#include "base/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/text/excerpt.h"
#include "base/text/utf8.h"

namespace gp {
namespace {

constexpr size_t kDepthMax = 32;
constexpr size_t kTextBytesMax = 4 << 20;
constexpr size_t kNodesMax = 50'000;  // one takes about a hundred times the memory of its text "a,"

YamlMark ToMark(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

// Builds the tree from the parser's events. Open containers are on a stack; a map's frame keeps a
// key until its value arrives.
class TreeBuilder : public YAML::EventHandler {
 public:
  YamlNode Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CountNode(mark);
    RefuseAnchor(mark, anchor);
    YamlNode node;
    node.mark = ToMark(mark);
    Add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw YAML::ParserException(mark, "aliases (*name) are not supported; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CountNode(mark);
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.mark = ToMark(mark);
    node.scalar = value;
    node.quoted = tag == "!";
    Add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    Open(mark, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    Open(mark, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    YamlNode node;
    bool has_key = false;
    std::string key;
    YamlMark key_mark;
  };

  static void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor == 0) return;
    throw YAML::ParserException(mark, "anchors (&name) are not supported; write the value out");
  }
  // The parser reports "?" for a plain value, "!" for a quoted one.
  static void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw YAML::ParserException(mark, "tags (" + Excerpt(tag) + ") are not supported");
  }

  void CountNode(const YAML::Mark& mark) {
    if (++node_count_ <= kNodesMax) return;
    throw YAML::ParserException(mark,
                                fmt::format("the document has more than {} values", kNodesMax));
  }

  void Open(const YAML::Mark& mark, YamlNode::Kind kind) {
    CountNode(mark);
    if (stack_.size() >= kDepthMax) throw YAML::ParserException(mark, "nested too deeply");
    if (!stack_.empty() && AwaitsKey(stack_.back())) {
      throw YAML::ParserException(mark, "a key must be a word, not a list or a map");
    }
    Frame frame;
    frame.node.kind = kind;
    frame.node.mark = ToMark(mark);
    stack_.push_back(std::move(frame));
  }

  void Close() {
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    Add(std::move(node));
  }

  void Add(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& parent = stack_.back();
    if (parent.node.kind == YamlNode::Kind::kSequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      parent.has_key = true;
      parent.key = node.scalar;
      parent.key_mark = node.mark;
    } else {
      parent.has_key = false;
      parent.node.entries.push_back({std::move(parent.key), parent.key_mark, std::move(node)});
    }
  }

  static bool AwaitsKey(const Frame& frame) {
    return frame.node.kind == YamlNode::Kind::kMap && !frame.has_key;
  }

  YamlNode root_;
  std::vector<Frame> stack_;
  size_t node_count_ = 0;
};

// A null mark makes the problem point at the first line.
ConfigProblem ParseProblem(std::string_view text, std::string_view source, const YAML::Mark& mark,
                           const std::string& message) {
  ConfigProblem problem;
  problem.source = source;
  problem.message = "this is not valid YAML: " + message;
  const YamlMark place = mark.is_null() ? YamlMark{1, 1} : ToMark(mark);
  PointAt(text, {place.line, place.column, 1}, problem);
  ConfigProblems problems;
  problems.Add(std::move(problem));
  return problems.listed().front();
}

YAML::Mark MarkAt(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  YAML::Mark mark;
  mark.pos = static_cast<int>(offset);
  mark.line = static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  mark.column = static_cast<int>(offset - (before.rfind('\n') + 1));
  return mark;
}

}  // namespace

const YamlNode* YamlNode::Find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::string_view Describe(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "a single value";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "nothing";
}

std::variant<YamlNode, ConfigProblem> ParseYaml(std::string_view text, std::string_view source) {
  if (text.size() > kTextBytesMax) {
    return ParseProblem("", source, YAML::Mark::null_mark(),
                        fmt::format("the text has {} bytes; a configuration may have at most {}",
                                    text.size(), kTextBytesMax));
  }
  // A zero byte is refused like invalid UTF-8.
  const size_t end = std::min(WholeUtf8Bytes(text), text.find('\0'));
  if (end < text.size()) {
    return ParseProblem(
        text, source, MarkAt(text, end),
        "the text is not UTF-8; convert the file from its encoding: iconv -f ENCODING -t UTF-8");
  }
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    TreeBuilder builder;
    if (parser.HandleNextDocument(builder) && parser) {
      TreeBuilder rest;
      if (parser.HandleNextDocument(rest)) {
        return ParseProblem(text, source, YAML::Mark::null_mark(),
                            "the text has more than one document (---)");
      }
    }
    return builder.Take();
  } catch (const YAML::Exception& error) {
    return ParseProblem(text, source, error.mark, error.msg);
  }
}

}  // namespace gp
