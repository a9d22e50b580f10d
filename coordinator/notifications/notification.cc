#include "coordinator/notifications/notification.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/duration.h"
#include "coordinator/state/run_reference.h"

namespace gp::coordinator {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kReasonCharactersMax = 2000;

std::string TimeText(Timestamp at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(at - seconds).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), millis);
}

// The number and the time of the event: a state that is restored from a backup uses the numbers
// after it again.
std::string KeyOf(std::string_view event, const RunId& run, uint64_t sequence, Timestamp at) {
  return fmt::format("{}-{}-{}-{}", run, event, sequence, at.time_since_epoch().count());
}

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RunState StateOf(const Event& event, const Run& run) {
  const auto* ended = std::get_if<RunEnded>(&event.body);
  return ended != nullptr ? ended->state : run.state;
}

std::string ReasonOf(const Event& event) {
  if (const auto* ended = std::get_if<RunEnded>(&event.body)) return ended->reason;
  if (const auto* failed = std::get_if<RankFailed>(&event.body)) {
    return fmt::format("rank {}: {}", failed->rank, failed->message);
  }
  if (const auto* warned = std::get_if<RunWarned>(&event.body)) return warned->text;
  const auto* sealed = std::get_if<CheckpointSealed>(&event.body);
  if (sealed == nullptr || !sealed->checkpoint.validation_loss) return "";
  return fmt::format("validation loss {:.4f} at step {}, the lowest of this run so far",
                     *sealed->checkpoint.validation_loss, sealed->checkpoint.step);
}

// The step that the event is about; for the end of a run, that of its newest checkpoint.
int64_t StepOf(const Event& event, const Run& run) {
  if (const auto* warned = std::get_if<RunWarned>(&event.body)) return warned->step;
  if (const auto* sealed = std::get_if<CheckpointSealed>(&event.body)) {
    return sealed->checkpoint.step;
  }
  return run.checkpoints.empty() ? 0 : run.checkpoints.back().step;
}

Json LossesOf(const Event& event, const Run& run, const Progress& progress) {
  Json losses = Json::object();
  if (progress.newest) {
    losses["training"] = Number(progress.newest->loss);
    losses["training_step"] = progress.newest->step;
  }
  const auto* sealed = std::get_if<CheckpointSealed>(&event.body);
  if (sealed != nullptr && sealed->checkpoint.validation_loss) {
    losses["validation"] = Number(*sealed->checkpoint.validation_loss);
  } else if (progress.validation_loss) {
    losses["validation"] = Number(*progress.validation_loss);
  }
  if (const SealedCheckpoint* best = run.BestCheckpoint()) {
    losses["best_validation"] = Number(*best->validation_loss);
    losses["best_validation_step"] = best->step;
  }
  return losses;
}

Json RunJson(const Run& run) {
  return {{"id", run.id.value()},
          {"name", run.submission->name},
          {"namespace", NamespaceOf(run)},
          {"user", run.submitted_by}};
}

Json Document(std::string_view event, const std::string& key, Timestamp at) {
  return {{"apiVersion", "gp/v1"},
          {"kind", "Notification"},
          {"event", event},
          {"time", TimeText(at)},
          {"key", key}};
}

// Slack reads <…> as links and mentions.
std::string SlackText(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace

Notification MakeNotification(Occasion occasion, const StoredEvent& stored, const Run& run,
                              const Progress& progress) {
  const Event& event = stored.event;
  const std::string key = KeyOf(Name(occasion), run.id, stored.sequence, event.at);
  Json json = Document(Name(occasion), key, event.at);
  Json of_run = RunJson(run);
  of_run["state"] = Name(StateOf(event, run));
  of_run["reason"] = ReasonOf(event).substr(0, kReasonCharactersMax);
  of_run["step"] = StepOf(event, run);
  of_run["target_steps"] = run.submission->target_steps;
  of_run["losses"] = LossesOf(event, run, progress);
  json["run"] = std::move(of_run);
  return {key, Dump(json)};
}

Notification MakeWaitingNotification(uint64_t sequence, Timestamp since, Timestamp now,
                                     const Run& run) {
  const std::string key = KeyOf(Name(Occasion::kWaiting), run.id, sequence, since);
  Json json = Document(Name(Occasion::kWaiting), key, now);
  Json of_run = RunJson(run);
  of_run["state"] = Name(run.state);
  of_run["reason"] = fmt::format("has waited for {}: {}", FormatDuration(now - since),
                                 run.reason.substr(0, kReasonCharactersMax));
  of_run["step"] = run.checkpoints.empty() ? 0 : run.checkpoints.back().step;
  of_run["target_steps"] = run.submission->target_steps;
  of_run["losses"] = Json::object();
  json["run"] = std::move(of_run);
  return {key, Dump(json)};
}

Notification MakeTestNotification(const std::string& id, Timestamp now) {
  const std::string key = "test-" + id;
  Json json = Document("test", key, now);
  json["message"] = "a test of this notification target, sent by 'gpctl notify test'";
  return {key, Dump(json)};
}

std::string BodyFor(TargetKind kind, const std::string& body) {
  if (kind == TargetKind::kWebhook) return body;
  const Json json = Json::parse(body);
  const std::string event = json["event"];
  if (!json.contains("run")) {
    return Dump({{"text", fmt::format("gp: {}", SlackText(json["message"]))}});
  }
  const Json& run = json["run"];
  return Dump(
      {{"text", fmt::format("gp: run {} of namespace {} ({}): *{}*, step {} of {}. {}",
                            SlackText(run["name"]), SlackText(run["namespace"]),
                            SlackText(run["id"]), event, run["step"].get<int64_t>(),
                            run["target_steps"].get<int64_t>(), SlackText(run["reason"]))}});
}

}  // namespace gp::coordinator
