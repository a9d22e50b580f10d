#include "tasks/run_tasks.h"

#include <set>

#include "formats/path_pattern.h"

namespace gp::tasks {
namespace {

constexpr size_t kTasksMax = 16;

// Checks that every question can be asked in the style.
Status CheckStyle(const ChoiceFile& file, ChoiceStyle style) {
  for (const ChoiceItem& item : file.items) {
    const auto texts = TextsOf(item, file.form, style);
    if (!texts.ok()) return WithContext(texts.status(), fmt::format("{}:{}", file.path, item.line));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<RunTask>> ReadRunTasks(const runspec::EvalSpec& spec) {
  if (spec.tasks.empty()) return std::vector<RunTask>();
  ASSIGN_OR_RETURN(const auto paths, formats::ExpandPatterns(spec.tasks, "eval.tasks"));
  if (paths.size() > kTasksMax) {
    return InvalidArgument("eval.tasks names {} files; at most {} are allowed", paths.size(),
                           kTasksMax);
  }
  std::vector<RunTask> tasks;
  std::set<std::string> names;
  for (const std::string& path : paths) {
    if (!names.insert(TaskName(path)).second) {
      return InvalidArgument("eval.tasks: two files are called {}; rename {}", TaskName(path),
                             path);
    }
    auto file = ReadChoiceFile(path);
    if (!file.ok()) return WithContext(file.status(), "eval.tasks");
    const Status fits = CheckStyle(*file, StyleOf(spec.task_style));
    if (!fits.ok()) return WithContext(fits, "eval.tasks");
    tasks.push_back({TaskName(path), *std::move(file)});
  }
  return tasks;
}

}  // namespace gp::tasks
