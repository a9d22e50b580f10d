#include "worker/trainer/run_records.h"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <type_traits>

#include "base/file.h"
#include "base/log.h"
#include "base/yaml_reader.h"
#include "formats/directory_format.h"
#include "formats/event_file.h"
#include "formats/metrics_line.h"

namespace gp::engine {
namespace {

using Json = nlohmann::json;

constexpr char kMetricsName[] = "metrics.jsonl";
constexpr char kBudgetName[] = "budget.json";

// The complete lines at the start of `text` that are about steps up to `last`.
std::string LinesUpTo(std::string_view text, int64_t last) {
  size_t kept = 0;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', kept)) {
    const Json line = Json::parse(text.substr(kept, end - kept), nullptr, false);
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) break;
    if (line["step"].get<int64_t>() > last) break;
    kept = end + 1;
  }
  return std::string(text.substr(0, kept));
}

std::string EventsUpTo(std::string_view bytes, int64_t last) {
  std::vector<formats::ScalarEvent> events;
  const auto parsed = formats::ParseEventFile(bytes, &events);
  if (parsed.ok()) events = *parsed;
  uint64_t kept = 0;
  for (const formats::ScalarEvent& event : events) {
    if (event.step > last) break;
    kept = event.end_offset;
  }
  return std::string(bytes.substr(0, kept));
}

// Replaces the file by the part that `keep` returns, even if nothing changes: an earlier process
// that still runs then writes to the old file. Does not create a file.
Status Shorten(const std::string& path,
               const std::function<std::string(std::string_view text)>& keep) {
  if (!FileExists(path)) return OkStatus();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return WriteFileAtomically(path, keep(text));
}

Status DropLaterSteps(const std::string& directory, int64_t step) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    const std::string path = JoinPath(directory, name);
    if (name == kMetricsName || name == "samples.jsonl") {
      RETURN_IF_ERROR(Shorten(path, [step](std::string_view t) { return LinesUpTo(t, step); }));
    } else if (name.find("tfevents") != std::string::npos) {
      RETURN_IF_ERROR(Shorten(path, [step](std::string_view t) { return EventsUpTo(t, step); }));
    }
  }
  return OkStatus();
}

std::string HostName() {
  char name[256] = "host";
  gethostname(name, sizeof name - 1);
  return name;
}

double Seconds(const Clock& clock) {
  return static_cast<double>(clock.WallNow().time_since_epoch().count()) * 1e-6;
}

// The TensorBoard scalars of a step. A score's tag is its name, except for the bits per byte.
std::vector<formats::Scalar> ScalarsOf(const contract::TrainingPoint& point) {
  std::vector<formats::Scalar> scalars;
  contract::VisitFields(point, [&](const contract::FieldInfo& field, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if (*field.tag == '\0') return;
    if constexpr (std::is_same_v<Value, double>) {
      if (field.zero_is_unknown && value == 0) return;
      scalars.push_back({field.tag, static_cast<float>(value)});
    } else if constexpr (std::is_same_v<Value, std::optional<double>>) {
      if (value) scalars.push_back({field.tag, static_cast<float>(*value)});
    }
  });
  for (const auto& [name, value] : point.scores) {
    const bool bits = name == contract::kBitsPerByte;
    scalars.push_back({bits ? "validation/bits_per_byte" : name, static_cast<float>(value)});
  }
  return scalars;
}

formats::Hyperparameter HyperparameterOf(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar) return std::string("null");
  if (node.quoted) return node.scalar;
  if (node.scalar == "true" || node.scalar == "false") return node.scalar == "true";
  double number = 0;
  const char* const text_end = node.scalar.data() + node.scalar.size();
  const auto [end, error] = std::from_chars(node.scalar.data(), text_end, number);
  if (error == std::errc() && end == text_end && std::isfinite(number)) return number;
  return node.scalar;
}

// Adds the values below `node`, whose path is `path`. An entry of a list has its index as its key.
void AddHyperparameters(const std::string& path, const YamlNode& node,
                        std::map<std::string, formats::Hyperparameter>& values) {
  const auto below = [&path](const std::string& key) {
    return path.empty() ? key : path + "." + key;
  };
  for (const YamlEntry& entry : node.entries) {
    AddHyperparameters(below(entry.key), entry.value, values);
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    AddHyperparameters(below(std::to_string(i)), node.items[i], values);
  }
  const bool is_value = node.kind == YamlNode::Kind::kScalar || node.kind == YamlNode::Kind::kNull;
  if (is_value && !path.empty()) values[path] = HyperparameterOf(node);
}

// A block of code in Markdown, so that TensorBoard shows the lines as they are.
std::string CodeBlock(const std::string& text) {
  std::string block = "    ";
  for (const char c : text) block += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return block;
}

}  // namespace

StatusOr<RunRecords> RunRecords::Open(const std::string& run_directory, int64_t step,
                                      const Clock& clock) {
  RETURN_IF_ERROR(MakeDirectory(run_directory));
  RETURN_IF_ERROR(
      formats::MigrateDirectory(run_directory, {.name = "gp-run", .what = "run directory"}));
  RETURN_IF_ERROR(DropLaterSteps(run_directory, step));
  const auto open = [&](const std::string& name) {
    return AppendFile::Open(JoinPath(run_directory, name));
  };
  ASSIGN_OR_RETURN(AppendFile metrics, open("metrics.jsonl"));
  ASSIGN_OR_RETURN(AppendFile samples, open("samples.jsonl"));
  const double now = Seconds(clock);
  ASSIGN_OR_RETURN(AppendFile events,
                   open(formats::EventFileName(static_cast<int64_t>(now), HostName())));
  RETURN_IF_ERROR(events.Append(formats::FormatEventFileStart(now) +
                                formats::FormatSessionStart(now, step + 1)));
  return RunRecords(run_directory, clock, std::move(metrics), std::move(samples),
                    std::move(events));
}

RunRecords::RunRecords(std::string run_directory, const Clock& clock, AppendFile metrics,
                       AppendFile samples, AppendFile events)
    : run_directory_(std::move(run_directory)),
      clock_(&clock),
      metrics_(std::move(metrics)),
      samples_(std::move(samples)),
      events_(std::move(events)) {}

void RunRecords::WriteStep(const contract::TrainingPoint& point) {
  Note(metrics_.Append(formats::FormatMetricsLine(point) + "\n"));
  Note(events_.Append(formats::FormatScalarEvent(Seconds(*clock_), point.step, ScalarsOf(point))));
}

void RunRecords::WriteSample(int64_t step, const std::string& prompt, const std::string& text) {
  const Json line = {{"step", step}, {"prompt", prompt}, {"text", text}};
  Note(samples_.Append(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"));
  Note(events_.Append(formats::FormatTextEvent(Seconds(*clock_), step, "samples/text_summary",
                                               CodeBlock(prompt + text))));
}

void RunRecords::WriteResolved(const std::string& yaml) {
  Note(WriteFileAtomically(JoinPath(run_directory_, "resolved.yaml"), yaml));
  const auto parsed = ParseYaml(yaml, "resolved.yaml");
  const auto* root = std::get_if<YamlNode>(&parsed);
  if (root == nullptr) return;
  std::map<std::string, formats::Hyperparameter> values;
  AddHyperparameters("", *root, values);
  Note(events_.Append(formats::FormatHyperparameters(Seconds(*clock_), values)));
}

void RunRecords::Note(const Status& status) {
  if (status.ok() || warned_) return;
  warned_ = true;
  LogWarning("records are incomplete", {{"reason", Message(status)}});
}

RecordedSteps ReadRecordedSteps(const std::string& run_directory) {
  RecordedSteps recorded;
  const std::string text = ReadFile(JoinPath(run_directory, kMetricsName)).value_or("");
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const auto point = formats::ParseMetricsLine(text.substr(begin, end - begin));
    if (!point.ok() || !std::isfinite(point->step_seconds)) continue;
    ++recorded.count;
    recorded.seconds += point->step_seconds;
  }
  return recorded;
}

StatusOr<StepBudget> ReadStoredBudget(const std::string& run_directory) {
  const std::string path = JoinPath(run_directory, kBudgetName);
  if (!FileExists(path)) return StepBudget();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 4096));
  const Json json = Json::parse(text, nullptr, false);
  const auto number = [&json](const char* key) -> int64_t {
    const bool present = json.is_object() && json.contains(key) && json[key].is_number_integer();
    return present ? json[key].get<int64_t>() : 0;
  };
  const StepBudget budget{.steps = number("steps"), .measured_steps = number("measured_steps")};
  if (budget.steps >= 1 && budget.measured_steps >= 1) return budget;
  return DataLoss(
      "{} is damaged: expected {{\"steps\": N, \"measured_steps\": M}}; remove it to measure the "
      "budget again",
      path);
}

Status StoreBudget(const Storage& storage, const std::string& run_directory,
                   const StepBudget& budget) {
  const Json json = {{"steps", budget.steps}, {"measured_steps", budget.measured_steps}};
  return storage.Put(JoinPath(run_directory, kBudgetName), json.dump() + "\n");
}

}  // namespace gp::engine
