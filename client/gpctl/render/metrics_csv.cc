#include "client/gpctl/render/metrics_csv.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <type_traits>

#include "client/gpctl/terminal/number_text.h"
#include "contract/training_point.h"
#include "formats/path_pattern.h"
#include "rpc/message_fields.h"
#include "runspec/run_file.h"
#include "tasks/choice_file.h"

namespace gp::gpctl {
namespace {

using contract::TrainingPoint;

std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

void AddCell(const std::string& text, std::string& line) {
  if (!line.empty()) line += ",";
  line += CsvCell(text);
}

std::string CellText(double value, bool zero_is_unknown) {
  return zero_is_unknown && value == 0 ? "" : fmt::format("{}", value);
}
std::string CellText(int64_t value, bool zero_is_unknown) {
  return zero_is_unknown && value == 0 ? "" : fmt::format("{}", value);
}
std::string CellText(uint64_t value, bool) { return fmt::format("{}", value); }
std::string CellText(bool value, bool) { return value ? "true" : "false"; }
std::string CellText(const std::string& value, bool) { return value; }
std::string CellText(const std::optional<double>& value, bool) {
  return value ? fmt::format("{}", *value) : "";
}

// The files that a pattern matches here; the pattern itself if the files are on another machine.
std::vector<std::string> TaskFiles(const std::string& pattern) {
  const auto paths = formats::ExpandPatterns({pattern}, "eval.tasks");
  return paths.ok() ? *paths : std::vector<std::string>{pattern};
}

bool IsPattern(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

void AddTaskScores(const std::string& run_file, std::set<std::string>& names) {
  const auto result = runspec::LoadRunFile(run_file, "run file");
  if (!result.spec) return;
  for (const std::string& pattern : result.spec->eval.tasks) {
    for (const std::string& path : TaskFiles(pattern)) {
      if (IsPattern(path)) continue;
      const std::string name =
          fmt::format("{}/{}/", tasks::TaskName(path), result.spec->eval.task_style);
      names.insert(name + "acc");
      names.insert(name + "acc_norm");
    }
  }
}

}  // namespace

std::vector<std::string> ScoreColumns(const v1::Run& run) {
  std::set<std::string> names = {contract::kBitsPerByte};
  for (const v1::NewestScore& score : run.progress().scores()) names.insert(score.name());
  AddTaskScores(run.resolved(), names);
  for (const v1::Leg& leg : run.legs()) AddTaskScores(leg.resolved(), names);
  return {names.begin(), names.end()};
}

std::string MetricsCsvTitles(const std::vector<std::string>& scores) {
  std::string line;
  contract::TrainingPoint::ForEachField([&](const contract::FieldInfo& field, auto member) {
    using Member = std::remove_cvref_t<decltype(std::declval<TrainingPoint>().*member)>;
    if (*field.key == '\0') return;
    if constexpr (contract::Listed<Member>) {
      Member::ForEachField([&](const contract::FieldInfo& phase, auto) {
        AddCell(std::string("phase_") + phase.name, line);
      });
    } else {
      AddCell(field.key, line);
    }
  });
  AddCell("time", line);
  for (const std::string& score : scores) AddCell(score, line);
  return line + "\n";
}

std::string MetricsCsvLine(const v1::MetricPoint& point, const std::vector<std::string>& scores) {
  const auto value = rpc::ReadFields<TrainingPoint>(point);
  std::string line;
  contract::VisitFields(value, [&](const contract::FieldInfo& field, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if (*field.key == '\0') return;
    if constexpr (contract::Listed<Member>) {
      contract::VisitFields(member, [&](const contract::FieldInfo&, const double& seconds) {
        AddCell(fmt::format("{}", seconds), line);
      });
    } else if constexpr (!std::is_same_v<Member, std::map<std::string, double>>) {
      AddCell(CellText(member, field.zero_is_unknown), line);
    }
  });
  AddCell(point.has_at() ? PreciseTimeText(point.at().seconds(), point.at().nanos()) : "", line);
  for (const std::string& score : scores) {
    const auto found = value.scores.find(score);
    AddCell(found == value.scores.end() ? "" : fmt::format("{}", found->second), line);
  }
  return line + "\n";
}

}  // namespace gp::gpctl
