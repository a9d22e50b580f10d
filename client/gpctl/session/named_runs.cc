#include "client/gpctl/session/named_runs.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text/excerpt.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/terminal/number_text.h"
#include "contract/training_point.h"

namespace gp::gpctl {

StatusOr<std::vector<NamedRun>> FindRuns(const std::vector<std::string>& references,
                                         Session& session) {
  std::vector<NamedRun> runs;
  std::map<std::string, int> names;
  for (const std::string& reference : references) {
    ASSIGN_OR_RETURN(v1::Run run, session.FindRun(reference));
    const bool is_known = std::any_of(runs.begin(), runs.end(), [&](const NamedRun& one) {
      return one.run.run_id() == run.run_id();
    });
    if (is_known) {
      session.console().Warn({fmt::format("{} is named twice", run.name())});
      continue;
    }
    ++names[run.name()];
    const std::string name = run.name();
    runs.push_back({std::move(run), name});
  }
  for (NamedRun& one : runs) {
    if (names[one.run.name()] > 1) one.label = fmt::format("{} ({})", one.label, one.run.run_id());
  }
  return runs;
}

std::vector<std::string> CurveFields(const std::vector<NamedRun>& runs) {
  std::vector<std::string> fields;
  contract::TrainingPoint::ForEachField([&fields](const contract::FieldInfo& field, auto) {
    if (field.charted) fields.push_back(field.key);
  });
  std::set<std::string> scores;
  for (const NamedRun& one : runs) {
    for (const v1::NewestScore& score : one.run.progress().scores()) scores.insert(score.name());
  }
  fields.insert(fields.end(), scores.begin(), scores.end());
  return fields;
}

Status CheckField(const std::string& field, const std::vector<NamedRun>& runs) {
  const std::vector<std::string> fields = CurveFields(runs);
  if (std::find(fields.begin(), fields.end(), field) != fields.end()) return OkStatus();
  std::string all;
  for (const std::string& one : fields) all += (all.empty() ? "" : ", ") + one;
  return InvalidArgument(
      "nothing is recorded as '{}'{}\n{} {}: {}", Excerpt(field), DidYouMean(field, fields),
      runs.size() == 1 ? runs.front().label : "these runs", runs.size() == 1 ? "has" : "have", all);
}

std::string NoPointsText(const NamedRun& named, double now) {
  const v1::Run& run = named.run;
  const std::string state = client::StateName(run.state());
  if (client::IsTerminal(run.state())) {
    return fmt::format("{} has no points: it {} before its first step ({})", named.label,
                       run.state() == v1::RUN_STATE_CANCELLED ? "was cancelled" : state,
                       run.reason());
  }
  if (run.state() == v1::RUN_STATE_RUNNING) {
    return fmt::format(
        "{} has no points yet: it has been running for {} and has not finished a step", named.label,
        DurationText(ElapsedSeconds(run, now)));
  }
  return fmt::format("{} has no points yet: it is {} ({})", named.label, state, run.reason());
}

}  // namespace gp::gpctl
