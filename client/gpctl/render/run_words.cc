#include "client/gpctl/render/run_words.h"

#include <algorithm>
#include <string_view>

#include "client/api/run_client.h"

namespace gp::gpctl {
namespace {

constexpr std::string_view kPrefix = "RUN_STATE_";

}  // namespace

std::string StateName(v1::RunState state) {
  std::string name = v1::RunState_Name(state);
  if (name.rfind(kPrefix, 0) != 0) return "unknown";
  name.erase(0, kPrefix.size());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return name;
}

v1::RunState StateNamed(const std::string& name) {
  std::string full(kPrefix);
  for (unsigned char c : name) full += static_cast<char>(std::toupper(c));
  v1::RunState state = v1::RUN_STATE_UNSPECIFIED;
  return v1::RunState_Parse(full, &state) ? state : v1::RUN_STATE_UNSPECIFIED;
}

bool IsWarned(const v1::Run& run) {
  const std::string& warning = run.progress().warning();
  return !warning.empty() && !warning.starts_with("recovered");
}

std::string StateWord(const v1::Run& run) {
  const bool diverged = run.progress().warning().starts_with("diverged");
  return diverged && run.state() == v1::RUN_STATE_SUCCEEDED ? "diverged" : StateName(run.state());
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
