#include "coordinator/notifications/target_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "base/text/namespace_name.h"
#include "base/text/nearest_word.h"
#include "runspec/document_reader.h"
#include "runspec/value_reader.h"

namespace gp::coordinator {
namespace {

constexpr uint64_t kFileBytesMax = uint64_t{1} << 20;
constexpr char kPage[] = "docs/operations/notifications.md lists the keys";

struct Key {
  runspec::Field field;
  std::optional<runspec::Slot> slot;  // absent: read by the caller
};

// The file, and the problems found in it.
struct Source {
  std::string_view text;
  const std::string& path;
  ConfigProblems& problems;

  void Report(const YamlMark& mark, int width, const std::string& key, std::string message,
              std::string hint) const {
    ConfigProblem problem{
        .source = path, .key = key, .message = std::move(message), .hint = std::move(hint)};
    PointAt(text, {mark.line, mark.column, width}, problem);
    problems.Add(std::move(problem));
  }
};

// Reads one map of the file.
class MapReader : private runspec::DocumentReader {
 public:
  MapReader(const Source& source, std::string name, std::vector<Key> keys)
      : DocumentReader(std::move(name), kPage, fields_), source_(source), keys_(std::move(keys)) {
    for (const Key& key : keys_) fields_.push_back(&key.field);
  }

  void Read(const YamlNode& node) { ReadGroup("", node); }

 private:
  void ReadKey(const std::string& path, const YamlEntry& entry) override {
    const auto key =
        std::ranges::find_if(keys_, [&](const Key& one) { return one.field.path == path; });
    if (!key->slot) return;
    auto problem = runspec::ReadValue(key->field, entry.value, *key->slot);
    if (!problem) return;
    Report(problem->mark, problem->width, path, std::move(problem->message),
           std::move(problem->hint));
  }

  void Report(const YamlMark& mark, int width, const std::string& key, std::string message,
              std::string hint) override {
    source_.Report(mark, width, key, std::move(message), std::move(hint));
  }

  const Source& source_;
  const std::vector<Key> keys_;
  runspec::Fields fields_;
};

class FileReader {
 public:
  explicit FileReader(const Source& source) : source_(source) {}

  NotificationTargets Read() {
    auto parsed = ParseYaml(source_.text, source_.path);
    if (auto* problem = std::get_if<ConfigProblem>(&parsed)) {
      source_.problems.Add(std::move(*problem));
      return {};
    }
    const auto& root = std::get<YamlNode>(parsed);
    NotificationTargets result;
    std::string version;
    const std::vector<Key> keys = {
        {{.path = "apiVersion", .choices = {"gp/v1"}}, &version},
        {{.path = "waiting_longer_than", .min = 1}, &result.waiting_longer_than},
        {{.path = "targets"}, std::nullopt}};
    MapReader(source_, "a file of notification targets", keys).Read(root);
    ReadList(root, result.targets);
    return result;
  }

 private:
  void Report(const YamlNode& at, const std::string& key, std::string message,
              std::string hint = "") {
    source_.Report(at.mark, static_cast<int>(std::max<size_t>(at.scalar.size(), 1)), key,
                   std::move(message), std::move(hint));
  }

  void ReadList(const YamlNode& root, std::vector<NotificationTarget>& targets) {
    const YamlNode* list = root.Find("targets");
    if (list == nullptr || list->kind == YamlNode::Kind::kNull) {
      return Report(root, "targets", "the file names no target", "add a list: targets: [...]");
    }
    if (list->kind != YamlNode::Kind::kSequence) {
      return Report(*list, "targets",
                    fmt::format("targets must be a list, not {}", Describe(list->kind)));
    }
    if (list->items.size() > kTargetsMax) {
      return Report(
          *list, "targets",
          fmt::format("{} targets; at most {} are allowed", list->items.size(), kTargetsMax));
    }
    for (const YamlNode& node : list->items) {
      NotificationTarget target = ReadTarget(node);
      const bool is_taken = std::ranges::any_of(
          targets, [&](const NotificationTarget& other) { return other.name == target.name; });
      if (is_taken) {
        Report(node, "name", fmt::format("two targets have the name '{}'", Excerpt(target.name)));
      }
      targets.push_back(std::move(target));
    }
  }

  NotificationTarget ReadTarget(const YamlNode& node) {
    NotificationTarget target;
    std::vector<std::string> events = OccasionNames();
    std::vector<std::string> namespaces;
    const std::vector<Key> keys = {
        {{.path = "name"}, &target.name},
        {{.path = "kind", .choices = TargetKindNames()}, runspec::SlotOf(target.kind)},
        {{.path = "url"}, &target.url},
        {{.path = "url_file", .is_path = true}, &target.url_file},
        {{.path = "secret_file", .is_path = true}, &target.secret_file},
        {{.path = "events"}, &events},
        {{.path = "namespaces"}, &namespaces},
        {{.path = "runs", .choices = TargetRunsNames()}, runspec::SlotOf(target.runs)},
        {{.path = "allow_private_addresses"}, &target.allow_private_addresses}};
    MapReader(source_, "a target", keys).Read(node);
    for (std::string* file : {&target.url_file, &target.secret_file}) {
      if (!file->empty()) *file = AbsolutePath(*file, DirectoryOf(source_.path));
    }
    for (const std::string& event : events) AddEvent(node, event, target);
    for (const std::string& name : namespaces) AddNamespace(node, name, target);
    Check(node, target);
    return target;
  }

  // The element of the target's list `key` with this text, for the place of a problem.
  static const YamlNode& ElementOf(const YamlNode& target, const std::string& key,
                                   const std::string& text) {
    const YamlNode* list = target.Find(key);
    if (list == nullptr) return target;
    const auto found =
        std::ranges::find_if(list->items, [&](const auto& item) { return item.scalar == text; });
    return found == list->items.end() ? *list : *found;
  }

  void AddEvent(const YamlNode& node, const std::string& event, NotificationTarget& target) {
    const auto& names = OccasionNames();
    const auto found = std::ranges::find(names, event);
    if (found != names.end()) {
      target.events.insert(static_cast<Occasion>(found - names.begin()));
      return;
    }
    const auto nearest = NearestWord(event, names);
    Report(ElementOf(node, "events", event), "events",
           fmt::format("'{}' is not an event; the events are: {}", Excerpt(event),
                       fmt::join(names, ", ")),
           nearest ? fmt::format("did you mean '{}'?", *nearest) : "");
  }

  void AddNamespace(const YamlNode& node, const std::string& name, NotificationTarget& target) {
    target.namespaces.insert(name);
    if (IsNamespaceName(name)) return;
    Report(ElementOf(node, "namespaces", name), "namespaces",
           fmt::format("'{}' is not the name of a namespace: {}", Excerpt(name), kNamespaceRule));
  }

  void Check(const YamlNode& node, const NotificationTarget& target) {
    const auto report = [&](const std::string& key, const std::string& message) {
      const YamlNode* value = node.Find(key);
      Report(value != nullptr ? *value : node, key, message);
    };
    if (!IsNamespaceName(target.name)) {
      report("name", fmt::format("a target needs a name of {}", kNamespaceRule));
    }
    if (target.url.empty() == target.url_file.empty()) {
      report("url", "a target needs either url, or url_file for a URL that is a secret");
    } else if (target.url_file.empty()) {
      const Status valid = CheckUrl(target.url, target.allow_private_addresses);
      if (!valid.ok()) report("url", Message(valid));
    }
    const bool is_signed = target.kind == TargetKind::kWebhook;
    if (is_signed && target.secret_file.empty()) {
      report("secret_file",
             "a webhook needs secret_file, a file with the secret that signs its notifications; "
             "create it with: (umask 077; openssl rand -hex 32 > FILE)");
    }
    if (!is_signed && !target.secret_file.empty()) {
      report("secret_file", "Slack checks no signature; remove secret_file");
    }
  }

  const Source& source_;
};

Status CheckFiles(const NotificationTarget& target) {
  RETURN_IF_ERROR(ReadUrl(target).status());
  return target.kind == TargetKind::kWebhook ? ReadSecret(target).status() : OkStatus();
}

}  // namespace

NotificationTargets ParseTargets(std::string_view text, const std::string& path,
                                 ConfigProblems& problems) {
  const Source source{text, path, problems};
  return FileReader(source).Read();
}

StatusOr<NotificationTargets> ReadTargets(const std::string& path) {
  const StatusOr<std::string> text = ReadFile(path, kFileBytesMax);
  if (!text.ok()) {
    return InvalidArgument("notifications.targets_file: {}", gp::Message(text.status()));
  }
  ConfigProblems problems;
  NotificationTargets targets = ParseTargets(*text, path, problems);
  if (!problems.empty()) {
    return InvalidArgument("notifications.targets_file:\n{}", RenderProblems(problems.Take()));
  }
  for (const NotificationTarget& target : targets.targets) {
    const Status readable = CheckFiles(target);
    if (!readable.ok()) {
      return InvalidArgument("notifications.targets_file {}: target '{}': {}", path, target.name,
                             gp::Message(readable));
    }
  }
  return targets;
}

}  // namespace gp::coordinator
