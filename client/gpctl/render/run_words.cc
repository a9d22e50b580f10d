#include "client/gpctl/render/run_words.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "client/api/run_client.h"
#include "client/api/run_state_name.h"

namespace gp::gpctl {

bool IsWarned(const v1::Run& run) {
  const std::string& warning = run.progress().warning();
  return !warning.empty() && !warning.starts_with("recovered");
}

std::string StateWord(const v1::Run& run) {
  const bool diverged = run.progress().warning().starts_with("diverged");
  return diverged && run.state() == v1::RUN_STATE_SUCCEEDED ? "diverged"
                                                            : client::StateName(run.state());
}

Color StateColor(const v1::Run& run) {
  switch (run.state()) {
    case v1::RUN_STATE_FAILED:
      return Color::kRed;
    case v1::RUN_STATE_CANCELLED:
      return Color::kGrey;
    case v1::RUN_STATE_RUNNING:
    case v1::RUN_STATE_SUCCEEDED:
      return IsWarned(run) ? Color::kYellow : Color::kGreen;
    default:
      return Color::kYellow;
  }
}

std::string LabelsText(const v1::Run& run) {
  std::string text;
  for (const auto& [key, value] :
       std::map<std::string, std::string>(run.labels().begin(), run.labels().end())) {
    text += (text.empty() ? "" : ", ") + key + "=" + value;
  }
  return text;
}

double Seconds(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + 1e-9 * time.nanos();
}

double ElapsedSeconds(const v1::Run& run, double now) {
  const double begin = Seconds(run.has_started_at() ? run.started_at() : run.submitted_at());
  const double end = run.has_finished_at() ? Seconds(run.finished_at()) : now;
  return begin == 0 ? 0 : std::max(0.0, end - begin);
}

std::string UserName(const v1::Run& run) {
  constexpr std::string_view kUser = "user ";
  const std::string& text = run.submitted_by();
  return text.starts_with(kUser) ? text.substr(kUser.size()) : text;
}

}  // namespace gp::gpctl
