#include "runspec/sweep/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/text/excerpt.h"
#include "base/yaml_reader.h"
#include "runspec/document_reader.h"
#include "runspec/key_suggestion.h"
#include "runspec/schema.h"
#include "runspec/sweep/sweep_trials.h"
#include "runspec/value_reader.h"

namespace gp::runspec {
namespace {

constexpr int kParallelMax = 1000;
constexpr size_t kNameBytesMax = 50;  // of a sweep; a trial's name is longer: NAME-7

// Keys of the run file that a sweep sets itself, or that make no two trials differ.
constexpr std::string_view kFixedKeys[] = {"apiVersion", "kind", "name", "namespace", "labels"};

const Field kVersion{.path = "apiVersion", .choices = {"gp/v1"}};
const Field kKind{.path = "kind", .choices = {"Sweep"}};
const Field kName{.path = "name"};
const Field kRun{.path = "run"};
const Field kGrid{.path = "grid"};
const Field kRandom{.path = "random"};
const Field kRepeats{.path = "repeats"};
const Field kMaxParallel{.path = "max_parallel", .min = 1, .max = kParallelMax};
const Field kStop{.path = "early_stop.kind", .choices = {"none", "median", "halving"}};
const Field kMetric{.path = "early_stop.metric", .choices = {"val_loss"}};
const Field kMinSteps{.path = "early_stop.min_steps", .min = 1, .max = 1e9};
const Field kEta{.path = "early_stop.eta", .min = 2, .max = 100};
const Field kRandomTrials{.path = "random.trials", .min = 1, .max = 1e9};
const Field kRandomSeed{.path = "random.seed"};
const Field kSeed{.path = "repeats.seeds"};
const Field kRepeatCount{.path = "repeats", .min = 1, .max = 1e6};
const Field kScale{.path = "scale", .choices = {"linear", "log"}};

const Fields& SweepFields() {
  static const Fields kFields = {&kVersion,     &kKind, &kName,   &kRun,      &kGrid, &kRandom,
                                 &kMaxParallel, &kStop, &kMetric, &kMinSteps, &kEta,  &kRepeats};
  return kFields;
}

// The value as --set takes it: a list of values is written as [a, b].
std::string TextOf(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kSequence) return node.scalar;
  std::string text;
  for (const YamlNode& item : node.items) {
    text += (text.empty() ? "" : ", ") + YamlScalar(item.scalar);
  }
  return "[" + text + "]";
}

bool IsWhole(const Slot& slot) {
  return std::holds_alternative<int*>(slot) || std::holds_alternative<int64_t*>(slot) ||
         std::holds_alternative<uint64_t*>(slot) || std::holds_alternative<AutoCountSlot>(slot);
}

// Blanks all lines before the run file that is written inside `text`, and those after it, so that
// its problems have the places of the sweep file.
std::string LinesOf(std::string_view text, int first, int last) {
  std::string kept;
  int line = 1;
  for (size_t begin = 0; begin < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (line >= first && line < last) kept += text.substr(begin, end - begin);
    if (line < last) kept += '\n';
    begin = end + 1;
  }
  return kept;
}

class SweepReader : private DocumentReader {
 public:
  SweepReader(std::string_view text, const std::string& source)
      : DocumentReader("a sweep file", "docs/sweeps.md", SweepFields()),
        text_(text),
        source_(source) {}

  SweepFileResult Read() {
    auto parsed = ParseYaml(text_, source_);
    if (auto* problem = std::get_if<ConfigProblem>(&parsed)) return {std::nullopt, {*problem}};
    root_ = std::get<YamlNode>(std::move(parsed));
    ReadGroup("", root_);
    if (problems().empty()) CheckWhole();
    SweepFileResult result{.problems = problems().Take()};
    if (result.problems.empty()) result.file = std::move(file_);
    return result;
  }

 private:
  void ReadKey(const std::string& path, const YamlEntry& entry) override {
    const YamlNode& node = entry.value;
    std::string ignored;
    if (path == kVersion.path) {
      has_version_ = ReadInto(kVersion, node, &ignored);
    } else if (path == kKind.path) {
      has_kind_ = ReadInto(kKind, node, &ignored);
    } else if (path == kName.path) {
      ReadInto(kName, node, &file_.name);
    } else if (path == kRun.path) {
      ReadRun(entry);
    } else if (path == kGrid.path) {
      ReadGrid(node);
    } else if (path == kRandom.path) {
      ReadRandom(node);
    } else if (path == kRepeats.path) {
      ReadRepeats(node);
    } else if (path == kMaxParallel.path) {
      ReadInto(kMaxParallel, node, &file_.max_parallel);
    } else if (path == kStop.path) {
      has_stop_kind_ = ReadInto(kStop, node, &file_.early_stop);
    } else if (path == kMetric.path) {
      ReadInto(kMetric, node, &ignored);
    } else if (path == kMinSteps.path) {
      ReadInto(kMinSteps, node, &file_.min_steps);
    } else if (path == kEta.path) {
      ReadInto(kEta, node, &file_.eta);
    }
  }

  void Report(const YamlMark& mark, int width, const std::string& key, std::string message,
              std::string hint) override {
    ConfigProblem problem{
        .source = source_, .key = key, .message = std::move(message), .hint = std::move(hint)};
    PointAt(text_, {mark.line, mark.column, width}, problem);
    problems().Add(std::move(problem));
  }

  void ReportKey(const YamlEntry& entry, std::string message, std::string hint = "") {
    Report(entry.key_mark, static_cast<int>(entry.key.size()), entry.key, std::move(message),
           std::move(hint));
  }

  bool ReadInto(const Field& field, const YamlNode& node, const Slot& slot) {
    auto problem = ReadValue(field, node, slot);
    if (!problem) return true;
    Report(problem->mark, problem->width, field.path, std::move(problem->message),
           std::move(problem->hint));
    return false;
  }

  void ReadRun(const YamlEntry& entry) {
    if (entry.value.kind != YamlNode::Kind::kMap) {
      ReadInto(kRun, entry.value, &file_.run_path);
      return;
    }
    if (entry.value.mark.line == entry.key_mark.line) {
      return ReportKey(entry, "run: the run file begins on the line of its key",
                       "write its keys on the lines below, indented, or give the path of a file");
    }
    int last = std::numeric_limits<int>::max();
    for (const YamlEntry& other : root_.entries) {
      if (other.key_mark.line > entry.key_mark.line) last = std::min(last, other.key_mark.line);
    }
    file_.run_text = LinesOf(text_, entry.key_mark.line + 1, last);
  }

  void ReadGrid(const YamlNode& node) {
    if (!IsMap(kGrid, node)) return;
    for (const YamlEntry& entry : node.entries) {
      if (const RunField* field = FieldOf(entry, file_.grid)) ReadValues(*field, entry, file_.grid);
    }
  }

  void ReadRandom(const YamlNode& node) {
    if (!IsMap(kRandom, node)) return;
    for (const YamlEntry& entry : node.entries) {
      if (entry.key == "trials") {
        ReadInto(kRandomTrials, entry.value, &file_.random_trials);
      } else if (entry.key == "seed") {
        ReadInto(kRandomSeed, entry.value, &file_.random_seed);
      } else if (const RunField* field = FieldOf(entry, file_.random)) {
        if (entry.value.kind == YamlNode::Kind::kMap) {
          ReadRange(*field, entry);
        } else {
          ReadValues(*field, entry, file_.random);
        }
      }
    }
    if (file_.random_trials == 0 && problems().empty()) {
      Report(node.mark, 1, kRandom.path, "random.trials is missing: how many combinations to draw",
             "random: {trials: 20, …}");
    }
  }

  bool IsMap(const Field& field, const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kMap) return true;
    Report(node.mark, 1, field.path,
           fmt::format("{} must be a map from keys of the run file to values, not {}", field.path,
                       Describe(node.kind)),
           "");
    return false;
  }

  // The field of a key to vary; null after a problem.
  const RunField* FieldOf(const YamlEntry& entry, const std::vector<SweptKey>& keys) {
    const RunField* field = FindField(entry.key);
    if (field == nullptr) {
      const std::string nearest = IsGroup(entry.key) ? "" : SuggestKey(entry.key, SchemaFields());
      ReportKey(entry,
                fmt::format("'{}' is not a key of the run file{}", Excerpt(entry.key),
                            runspec::IsGroup(entry.key) ? " but a group of keys" : ""),
                nearest.empty() ? "gpctl explain lists the keys; write them as optimizer.lr"
                                : fmt::format("did you mean '{}'?", nearest));
      return nullptr;
    }
    const bool twice =
        std::ranges::any_of(keys, [&](const SweptKey& key) { return key.path == entry.key; });
    const bool in_grid =
        &keys != &file_.grid &&
        std::ranges::any_of(file_.grid, [&](const auto& key) { return key.path == entry.key; });
    if (twice || in_grid) {
      ReportKey(entry, fmt::format("'{}' is given twice", entry.key), "keep one");
      return nullptr;
    }
    if (std::ranges::find(kFixedKeys, entry.key) != std::end(kFixedKeys)) {
      ReportKey(entry, fmt::format("'{}' cannot be varied", entry.key));
      return nullptr;
    }
    return field;
  }

  // Whether the run file's schema takes the value.
  bool IsTaken(const RunField& field, const YamlNode& node) {
    return ReadInto(field, node, field.slot(scratch_));
  }

  void ReadValues(const RunField& field, const YamlEntry& entry, std::vector<SweptKey>& keys) {
    if (entry.value.kind != YamlNode::Kind::kSequence || entry.value.items.empty()) {
      const std::string range = &keys == &file_.random ? ", or {min: …, max: …}" : "";
      return ReportKey(entry, fmt::format("{} must be a list of values{}", entry.key, range));
    }
    SweptKey key{.path = entry.key, .line = entry.key_mark.line, .values = {}, .range = {}};
    for (const YamlNode& item : entry.value.items) {
      if (!IsTaken(field, item)) continue;
      const std::string text = TextOf(item);
      if (std::ranges::find(key.values, text) != key.values.end()) {
        Report(item.mark, static_cast<int>(text.size()), entry.key,
               fmt::format("{} has the value {} twice", entry.key, Excerpt(text)), "keep one");
      }
      key.values.push_back(text);
    }
    keys.push_back(std::move(key));
  }

  void ReadRange(const RunField& field, const YamlEntry& entry) {
    const Slot slot = field.slot(scratch_);
    if (!IsWhole(slot) && !std::holds_alternative<double*>(slot)) {
      return ReportKey(entry, fmt::format("{} is not a number: give a list of values", entry.key));
    }
    SweepRange range{.whole = IsWhole(slot)};
    std::string scale = "linear";
    bool readable = true;
    for (const YamlEntry& end : entry.value.entries) {
      if (end.key == "scale") {
        readable &= ReadInto(kScale, end.value, &scale);
      } else if (end.key == "min" || end.key == "max") {
        double& number = end.key == "min" ? range.min : range.max;
        // The schema checks the value with the key's own type; whole numbers may be 10k.
        readable &= IsTaken(field, end.value) && ReadNumber(field, end.value, number);
      } else {
        ReportKey(end, fmt::format("unknown key '{}'", Excerpt(end.key)),
                  "a range has min, max and scale");
        readable = false;
      }
    }
    if (!readable) return;
    range.log = scale == "log";
    if (entry.value.Find("min") == nullptr || entry.value.Find("max") == nullptr) {
      return ReportKey(entry, fmt::format("{}: a range needs min and max", entry.key));
    }
    if (!(range.min < range.max)) {
      return ReportKey(entry, fmt::format("{}: min must be below max", entry.key));
    }
    if (range.log && range.min <= 0) {
      return ReportKey(entry, fmt::format("{}: scale: log needs a min above 0", entry.key));
    }
    file_.random.push_back({entry.key, entry.key_mark.line, {}, range});
  }

  // REQUIRES: the schema takes the value.
  bool ReadNumber(const RunField& field, const YamlNode& node, double& number) {
    if (std::holds_alternative<double*>(field.slot(scratch_))) {
      return ReadInto({.path = field.path}, node, &number);
    }
    int64_t whole = 0;
    const bool readable = ReadInto({.path = field.path}, node, &whole);
    number = static_cast<double>(whole);
    return readable;
  }

  void ReadRepeats(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kScalar) {
      int64_t count = 0;
      if (!ReadInto(kRepeatCount, node, &count)) return;
      for (int64_t seed = 1; seed <= count; ++seed) file_.seeds.push_back(fmt::to_string(seed));
      return;
    }
    const YamlNode* seeds = node.Find("seeds");
    if (seeds == nullptr || seeds->items.empty() || node.entries.size() != 1) {
      return Report(node.mark, 1, kRepeats.path,
                    "repeats must be a number, or have one key: seeds, with a list", "");
    }
    for (const YamlNode& item : seeds->items) {
      uint64_t seed = 0;
      if (!ReadInto(kSeed, item, &seed)) return;
      const std::string text = fmt::to_string(seed);
      if (std::ranges::find(file_.seeds, text) != file_.seeds.end()) {
        Report(item.mark, static_cast<int>(text.size()), kRepeats.path,
               fmt::format("repeats has the seed {} twice", text), "keep one");
      }
      file_.seeds.push_back(text);
    }
  }

  void ReportFile(std::string message, std::string hint) {
    ConfigProblem problem{
        .source = source_, .message = std::move(message), .hint = std::move(hint)};
    problems().Add(std::move(problem));
  }

  void CheckWhole() {
    if (!has_version_) ReportFile("apiVersion is missing", "apiVersion: gp/v1");
    if (!has_kind_) ReportFile("kind is missing", "kind: Sweep");
    CheckName();
    if (file_.run_path.empty() && file_.run_text.empty()) {
      ReportFile("run is missing: the run file that the sweep varies", "run: run.yaml");
    }
    if (file_.grid.empty() && file_.random.empty()) {
      ReportFile("nothing varies", "grid: {optimizer.lr: [1e-3, 3e-4]}");
    }
    CheckSeeds();
    CheckEarlyStop();
    const uint64_t count = CountTrials(file_);
    if (count > kSweepTrialsMax) {
      ReportFile(
          fmt::format("the sweep has {} trials ({}); at most {} are submitted",
                      count == std::numeric_limits<uint64_t>::max() ? "more than 10^19"
                                                                    : fmt::format("{}", count),
                      TrialFactors(file_), kSweepTrialsMax),
          "give fewer values, or draw some of the combinations with random");
      return;
    }
    CheckDraws();
  }

  // Equal trials would look like repeats with other seeds.
  void CheckDraws() {
    if (file_.random.empty()) return;
    SweepFile draws = file_;
    draws.grid.clear();
    draws.seeds.clear();
    const std::vector<TrialSettings> drawn = ExpandTrials(draws);
    const std::set<TrialSettings> different(drawn.begin(), drawn.end());
    if (different.size() == drawn.size()) return;
    ReportFile(fmt::format("random: {} draws give {} different combinations", drawn.size(),
                           different.size()),
               "give fewer trials, wider ranges or another seed, or list the values in grid");
  }

  void CheckName() {
    const bool plain = std::ranges::all_of(file_.name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '-' || c == '_' || c == '.';
    });
    const bool good = plain && !file_.name.empty() && file_.name.size() <= kNameBytesMax &&
                      file_.name[0] != '-' && file_.name[0] != '.';
    if (good) return;
    ReportFile(file_.name.empty()
                   ? "name is missing"
                   : fmt::format("'{}' cannot be a sweep's name", Excerpt(file_.name)),
               fmt::format("1 to {} letters, digits, '-', '_' and '.', not beginning with '-' or "
                           "'.'",
                           kNameBytesMax));
  }

  void CheckSeeds() {
    if (file_.seeds.empty()) return;
    for (const auto* keys : {&file_.grid, &file_.random}) {
      for (const SweptKey& key : *keys) {
        if (key.path == "seed") ReportFile("seed is varied, and repeats sets it, too", "keep one");
      }
    }
  }

  void CheckEarlyStop() {
    if (root_.Find("early_stop") != nullptr && !has_stop_kind_) {
      ReportFile("early_stop.kind is missing", "early_stop: {kind: halving, min_steps: 500}");
    }
    const bool stops = file_.early_stop != "none";
    if (stops && file_.min_steps == 0) {
      ReportFile("early_stop.min_steps is missing: no trial is stopped before this step",
                 "early_stop: {kind: halving, min_steps: 500}");
    }
    if (file_.early_stop != "halving") return;
    for (const auto* keys : {&file_.grid, &file_.random}) {
      for (const SweptKey& key : *keys) {
        if (!key.path.starts_with("budget.")) continue;
        ReportFile(fmt::format("{} is varied, but halving gives trials their budgets", key.path),
                   "vary other keys, or stop early by median");
      }
    }
  }

  const std::string_view text_;
  const std::string source_;
  YamlNode root_;
  RunSpec scratch_;  // what values are read into
  SweepFile file_;
  bool has_version_ = false;
  bool has_kind_ = false;
  bool has_stop_kind_ = false;
};

}  // namespace

SweepFileResult ReadSweepFile(std::string_view text, const std::string& source_name) {
  return SweepReader(text, source_name).Read();
}

}  // namespace gp::runspec
