#include "runspec/run_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "base/local_path.h"
#include "base/text/excerpt.h"
#include "base/text/utf8.h"
#include "base/yaml_reader.h"
#include "runspec/batch_plan.h"
#include "runspec/cross_check.h"
#include "runspec/document_reader.h"
#include "runspec/key_suggestion.h"
#include "runspec/preset.h"
#include "runspec/schema.h"
#include "runspec/value_reader.h"

namespace gp::runspec {
namespace {

// Where a value was written; `text` is the whole source, for the excerpt.
struct Place {
  std::string source;
  std::string_view text;
  YamlMark mark;
  int width = 1;  // bytes
};

ConfigProblem ProblemAt(const Place& place, std::string key, std::string message,
                        std::string hint) {
  ConfigProblem problem;
  problem.source = place.source;
  problem.key = std::move(key);
  problem.message = std::move(message);
  problem.hint = std::move(hint);
  if (!place.text.empty()) {
    PointAt(place.text, {place.mark.line, place.mark.column, place.width}, problem);
  }
  return problem;
}

std::string Leaf(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string Group(const std::string& path) { return path.substr(0, path.find('.')); }

// The other key of a pair of alternatives; empty if `path` is in no pair. If a later layer sets one
// key of a pair, the other is cleared.
std::string_view InsteadOf(std::string_view path) {
  static const std::map<std::string_view, std::string_view> kPairs = {
      {"schedule.warmup_steps", "schedule.warmup_tokens"},
      {"schedule.warmup_tokens", "schedule.warmup_steps"},
      {"schedule.decay_steps", "schedule.decay_tokens"},
      {"schedule.decay_tokens", "schedule.decay_steps"},
  };
  const auto found = kPairs.find(path);
  return found == kPairs.end() ? std::string_view() : found->second;
}

class Loader : private DocumentReader {
 public:
  Loader(const LoadOptions& options, RunFileResult& result)
      : DocumentReader("a run file", "gpctl explain", SchemaFields()),
        options_(options),
        result_(result) {}

  void Load(std::string_view text, const std::string& source,
            const std::vector<std::string>& overrides) {
    const YamlNode root = Parse(text, source);
    ApplyPreset(ValueOf("preset", root, overrides));
    ReadInitialModel(root, overrides);
    source_ = source;
    text_ = text;
    base_directory_ = options_.base_directory;
    DropWhatTheFileReplaces(root);
    ++layer_;
    ReadGroup("", root);
    ++layer_;
    for (size_t i = 0; i < overrides.size(); ++i) ApplyOverride(overrides[i], SourceOf(i));
    Finish();
    result_.problems = problems().Take();
  }

 private:
  YamlNode Parse(std::string_view text, const std::string& source) {
    auto parsed = ParseYaml(text, source);
    if (auto* problem = std::get_if<ConfigProblem>(&parsed)) {
      problems().Add(std::move(*problem));
      return {};
    }
    return std::get<YamlNode>(std::move(parsed));
  }

  // The text of a top-level key, for keys that decide how the others are read.
  static std::string ValueOf(const std::string& key, const YamlNode& root,
                             const std::vector<std::string>& overrides) {
    std::string value;
    if (const YamlNode* node = root.Find(key)) value = node->scalar;
    for (const std::string& entry : overrides) {
      if (entry.starts_with(key + "=")) value = entry.substr(key.size() + 1);
    }
    return value;
  }

  // The initial model's shape overrides the preset's, and the file overrides both.
  void ReadInitialModel(const YamlNode& root, const std::vector<std::string>& overrides) {
    const std::string reference = ValueOf("init_from", root, overrides);
    if (!options_.find_initial_model || reference.empty() || reference == kFromScratch) return;
    if (const Status status = CheckLocalPath(reference); !status.ok()) {
      initial_model_ = status;
      return;
    }
    const bool overridden =
        std::any_of(overrides.begin(), overrides.end(),
                    [](const std::string& entry) { return entry.starts_with("init_from="); });
    initial_model_ = options_.find_initial_model(
        reference, overridden ? options_.override_directory : options_.base_directory);
    if (initial_model_->ok()) ApplyInitialModel(**initial_model_, spec_);
  }

  // Reports an error of find_initial_model, or what does not match the model that it found.
  void CheckInitialModel() {
    if (!initial_model_) return;
    if (!initial_model_->ok()) {
      problems().Add(Locate({{"init_from"}, Message(initial_model_->status()), "", ""}));
      return;
    }
    spec_.init_from = (*initial_model_)->path;
    for (const CrossProblem& found : CheckAgainst((*initial_model_)->shape, spec_.model)) {
      problems().Add(Locate(found));
    }
  }

  // Reports what the run cannot take over from the initial model besides its weights.
  void CheckKeptState() {
    if (!initial_model_ || !initial_model_->ok()) return;
    for (const CrossProblem& found : CheckKeptOf(**initial_model_, spec_)) {
      problems().Add(Locate(found));
    }
  }

  void CheckNotifyTargets() {
    if (!options_.find_notify_targets || spec_.notify.empty()) return;
    const std::vector<std::string> known = options_.find_notify_targets(spec_.run_namespace);
    for (const CrossProblem& found : CheckNotify(spec_, known)) problems().Add(Locate(found));
  }

  // Skips an unknown name, which is reported when the file's `preset` key is read.
  void ApplyPreset(const std::string& name) {
    text_ = PresetText(name);
    if (text_.empty()) return;
    source_ = "preset " + name;
    const size_t problems_before = problems().listed().size();
    ReadGroup("", Parse(text_, source_));
    GP_CHECK(problems().listed().size() == problems_before, "preset {}: {}", name,
             problems().listed().back().message);
    // Forgets the preset's lines, so that cross checks point at the `preset` key instead.
    places_.clear();
  }

  // A budget in the file replaces the preset's whole budget, not single keys of it.
  void DropWhatTheFileReplaces(const YamlNode& root) {
    const YamlNode* budget = root.Find("budget");
    if (budget != nullptr && !budget->entries.empty()) spec_.budget = {};
  }

  Place PlaceOf(YamlMark mark, int width) const { return {source_, text_, mark, width}; }
  Place KeyPlace(const YamlEntry& entry) const {
    return PlaceOf(entry.key_mark, static_cast<int>(entry.key.size()));
  }

  void Report(const Place& place, const std::string& key, std::string message,
              std::string hint = "") {
    // Finding the place takes time, so it is skipped when the list is full.
    if (problems().full()) return problems().Add({});
    problems().Add(ProblemAt(place, key, std::move(message), std::move(hint)));
  }

  void ReadKey(const std::string& path, const YamlEntry& entry) override {
    ApplyValue(*FindField(path), KeyPlace(entry), entry.value);
  }

  void EnterGroup(const std::string& path, const YamlEntry& entry) override {
    places_[path] = KeyPlace(entry);
  }

  void Report(const YamlMark& mark, int width, const std::string& key, std::string message,
              std::string hint) override {
    Report(PlaceOf(mark, width), key, std::move(message), std::move(hint));
  }

  void ApplyValue(const RunField& field, const Place& key_place, const YamlNode& value) {
    if (auto problem = ReadValue(field, value, field.slot(spec_))) {
      const bool inside = key_place.text.empty() || problem->mark.line == 0;
      const Place place = inside ? key_place : PlaceOf(problem->mark, problem->width);
      Report(place, field.path, std::move(problem->message), std::move(problem->hint));
      return;
    }
    ResolvePaths(field);
    DropWhatItReplaces(field);
    places_[field.path] = key_place.text.empty() ? key_place : PlaceOf(value.mark, WidthOf(value));
    ForgetInside(field.path);
    if (!key_place.text.empty()) RememberInside(field.path, value);
  }

  static int WidthOf(const YamlNode& value) {
    return value.kind == YamlNode::Kind::kScalar ? static_cast<int>(value.scalar.size()) : 1;
  }

  void ForgetInside(const std::string& path) {
    std::erase_if(places_, [&](const auto& place) {
      return place.first.starts_with(path + "[") || place.first.starts_with(path + ".");
    });
  }

  // Records the places of list and map entries: "train[0]", "learning_rates.wte".
  void RememberInside(const std::string& path, const YamlNode& value) {
    for (size_t i = 0; i < value.items.size(); ++i) {
      const YamlNode& item = value.items[i];
      places_[fmt::format("{}[{}]", path, i)] = PlaceOf(item.mark, WidthOf(item));
    }
    for (const YamlEntry& entry : value.entries) places_[path + "." + entry.key] = KeyPlace(entry);
  }

  void DropWhatItReplaces(const RunField& field) {
    const std::string other(InsteadOf(field.path));
    if (other.empty()) return;
    layers_[field.path] = layer_;
    const auto layer = layers_.find(other);
    if (layer == layers_.end() || layer->second == layer_) return;
    *std::get<int64_t*>(FindField(other)->slot(spec_)) = 0;
    places_.erase(other);
  }

  void ResolvePaths(const RunField& field) {
    if (!field.is_path || base_directory_.empty()) return;
    const Slot slot = field.slot(spec_);
    if (auto* const* path = std::get_if<std::string*>(&slot)) {
      if (NamesFile(field, **path)) **path = AbsolutePath(**path, base_directory_);
      return;
    }
    auto* paths = std::get<std::vector<std::string>*>(slot);
    for (std::string& path : *paths) path = AbsolutePath(path, base_directory_);
  }

  // Empty for --set.
  std::string SourceOf(size_t index) const {
    const auto& sources = options_.override_sources;
    return index < sources.size() ? sources[index] : "";
  }

  void ApplyOverride(const std::string& entry, const std::string& source) {
    const size_t equals = entry.find('=');
    const std::string path = entry.substr(0, equals);
    const Place place{source.empty() ? "--set " + path : source, "", {}, 1};
    if (equals == std::string::npos || equals == 0) {
      Report({"--set", "", {}, 1}, "",
             fmt::format("'{}' is not of the form key=value", Excerpt(entry)),
             "write it like --set optimizer.lr=6e-4");
      return;
    }
    if (!IsUtf8(entry)) {
      Report({"--set", "", {}, 1}, "", fmt::format("'{}' is not UTF-8", Excerpt(entry)),
             "names of files must be in UTF-8, too");
      return;
    }
    base_directory_ = options_.override_directory;
    const std::string value = entry.substr(equals + 1);
    if (const RunField* field = FindField(path)) {
      ApplyOverrideValue(*field, place, value);
    } else if (path.starts_with("labels.")) {
      spec_.labels[path.substr(7)] = value;
    } else if (IsGroup(path)) {
      Report(place, path, fmt::format("'{}' is a group of keys", path),
             fmt::format("set one of them: gpctl explain {}", path));
    } else {
      Report(place, path, fmt::format("unknown key '{}'", Excerpt(path)), DidYouMean(path));
    }
  }

  void ApplyOverrideValue(const RunField& field, const Place& place, const std::string& value) {
    if (const auto node = ParseValueText(value, field.slot(spec_))) {
      return ApplyValue(field, place, *node);
    }
    Report(place, field.path,
           fmt::format("{} must be {}, not '{}'", field.path, Expectation(field), Excerpt(value)));
  }

  // Groups with a value that could not be read; cross checks skip these.
  std::set<std::string> DoubtfulGroups() const {
    std::set<std::string> groups;
    for (const ConfigProblem& problem : problems().listed()) {
      groups.insert(Group(problem.key));
      groups.insert(Group(SuggestKey(problem.key, SchemaFields())));
    }
    return groups;
  }

  void Finish() {
    const bool readable =
        std::none_of(problems().listed().begin(), problems().listed().end(),
                     [](const ConfigProblem& problem) { return problem.key.empty(); });
    if (!readable || problems().full()) return;
    CheckInitialModel();
    // A stream can only be read in sequence, so a preset's data.order does not apply to it.
    if (!spec_.data.stream.empty() && !places_.contains("data.order")) {
      spec_.data.order = BatchOrder::kSequential;
    }
    const std::set<std::string> doubtful = DoubtfulGroups();
    for (const CrossProblem& found : CrossCheck(spec_)) {
      const bool certain = std::none_of(found.keys.begin(), found.keys.end(), [&](const auto& key) {
        return doubtful.contains(Group(key));
      });
      if (certain) problems().Add(Locate(found));
    }
    if (problems().empty()) CheckKeptState();
    if (problems().empty()) CheckNotifyTargets();
    if (!problems().empty()) return;
    ConfigProblems warnings;
    for (const CrossProblem& found : Warnings()) warnings.Add(Locate(found));
    result_.warnings = warnings.Take();
    FillDerived();
    result_.spec = spec_;
  }

  std::vector<CrossProblem> Warnings() const {
    std::vector<CrossProblem> warnings = CrossWarnings(spec_);
    if (!initial_model_ || !initial_model_->ok()) return warnings;
    for (CrossProblem& found : KeptWarnings((*initial_model_)->state, spec_)) {
      warnings.push_back(std::move(found));
    }
    const bool given = places_.contains("data.tokenizer");
    for (CrossProblem& found : TokenizerWarnings(**initial_model_, spec_, given)) {
      warnings.push_back(std::move(found));
    }
    return warnings;
  }

  // Text that says where found.other is set; empty if the problem already points at that key, or no
  // source sets it.
  std::string WhereElse(const CrossProblem& found, const std::string& key) const {
    const auto other = places_.find(found.other);
    if (other == places_.end() || found.other == key) return "";
    const Place& place = other->second;
    return place.text.empty() ? fmt::format("; {} comes from {}", found.other, place.source)
                              : fmt::format("; {} is on line {}", found.other, place.mark.line);
  }

  // Points at the first of found.keys that a source sets. If none is set, names only the file.
  ConfigProblem Locate(const CrossProblem& found) const {
    for (const std::string& key : found.keys) {
      const auto place = places_.find(key);
      if (place != places_.end()) {
        return ProblemAt(place->second, key, found.message, found.hint + WhereElse(found, key));
      }
    }
    return ProblemAt({source_, "", {}, 1}, found.keys[0], found.message, found.hint);
  }

  void FillDerived() {
    ResourceSpec& resources = spec_.resources;
    if (resources.min_workers == 0) {
      const bool in_place = spec_.stability.recovery == Recovery::kInPlace;
      resources.min_workers = in_place ? 1 : resources.workers;
    }
    if (resources.max_workers == 0) resources.max_workers = resources.workers;
    if (resources.device == "cpu" && spec_.precision == Precision::kAuto) {
      spec_.precision = Precision::kFp32;
    }
    if (resources.device != "auto") spec_.deterministic = spec_.IsDeterministic();
    spec_.batch.total_tokens = PlanBatch(spec_)->tokens_per_step;
    // The number of ids in a tokenizer file is known only when the data is read; until then GPT-2's
    // number is used.
    const bool small = spec_.data.tokenizer == "bytes" || spec_.data.tokenizer == "chars";
    if (spec_.vocabulary_auto) spec_.model.vocabulary = small ? 256 : 50257;
    const int64_t multiple = spec_.pad_vocab_to;
    spec_.model.vocabulary_padded = (spec_.model.vocabulary + multiple - 1) / multiple * multiple;
  }

  const LoadOptions& options_;
  RunFileResult& result_;
  RunSpec spec_;
  std::map<std::string, Place> places_;  // by path: where each value was written
  // For each key that belongs to a pair of InsteadOf: the layer that set it.
  std::map<std::string, int> layers_;
  int layer_ = 0;  // 0: preset, 1: file, 2: overrides
  std::optional<StatusOr<InitialModel>> initial_model_;
  std::string source_;
  std::string_view text_;
  std::string base_directory_;
};

}  // namespace

RunFileResult LoadRunFile(std::string_view text, const std::string& source_name,
                          const std::vector<std::string>& overrides, const LoadOptions& options) {
  RunFileResult result;
  Loader(options, result).Load(text, source_name, overrides);
  return result;
}

std::string ResolvedYaml(const RunSpec& spec) {
  std::string text, open_group;
  for (const RunField& field : Schema()) {
    const size_t dot = field.path.find('.');
    const std::string group = dot == std::string::npos ? "" : field.path.substr(0, dot);
    // An empty preset means none, so it is left out; every other key has a value.
    if (field.path == "preset" && spec.preset.empty()) continue;
    if (!group.empty() && group != open_group) text += group + ":\n";
    open_group = group;
    text += group.empty() ? "" : "  ";
    text += Leaf(field.path) + ": " + FormatValue(field, spec) + "\n";
  }
  return text;
}

Status ApplyVocabulary(int64_t tokenizer_vocabulary, RunSpec& spec) {
  if (spec.vocabulary_auto) spec.model.vocabulary = tokenizer_vocabulary;
  if (spec.model.vocabulary < tokenizer_vocabulary) {
    return InvalidArgument("{}; {}", DescribeSmallVocabulary(spec, tokenizer_vocabulary),
                           SmallVocabularyHint(spec));
  }
  const int64_t multiple = spec.pad_vocab_to;
  spec.model.vocabulary_padded = (spec.model.vocabulary + multiple - 1) / multiple * multiple;
  return OkStatus();
}

}  // namespace gp::runspec
