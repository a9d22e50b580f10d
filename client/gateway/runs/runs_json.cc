#include "client/gateway/runs/runs_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "client/api/key_difference.h"
#include "client/api/run_client.h"
#include "client/api/run_state_name.h"
#include "client/api/time_left.h"

namespace gp::gateway {
namespace {

Json Number(bool present, double value) {
  return present && std::isfinite(value) ? Json(value) : Json();
}

Json Time(bool present, const google::protobuf::Timestamp& time) {
  return Number(present, UnixSeconds(time));
}

Json StepOrNull(int64_t step) { return step >= 0 ? Json(step) : Json(); }

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json PlacementOf(const v1::Run& run) {
  Json ranks = Json::array();
  for (const v1::RankPlacement& rank : run.placement()) {
    ranks.push_back({{"rank", rank.rank()}, {"node", rank.node_name()}, {"slot", rank.slot_id()}});
  }
  return ranks;
}

void PutProgress(const v1::Progress& progress, Json& json) {
  const bool stepped = progress.step() > 0;
  json["step"] = progress.step();
  json["target_steps"] = progress.target_steps();
  json["tokens"] = progress.tokens();
  json["loss"] = Number(stepped, progress.loss());
  json["validation_loss"] = Number(progress.validation_step() > 0, progress.validation_loss());
  json["scores"] = Json::object();
  for (const v1::NewestScore& score : progress.scores())
    json["scores"][score.name()] = score.value();
  json["tokens_per_second"] = Number(stepped, progress.tokens_per_second());
  json["mfu"] = Number(progress.mfu() > 0, progress.mfu());
  json["step_seconds"] = Number(stepped, progress.step_seconds());
  json["learning_rate"] = Number(stepped, progress.learning_rate());
  json["gradient_norm"] = Number(stepped, progress.gradient_norm());
}

Json UseFields(const v1::ResourceUse& use) {
  return {{"cores", use.cores()}, {"memory_bytes", use.memory_bytes()}};
}

// Of a node's machine; null for numbers that its agent does not report.
Json LoadFields(const v1::MachineLoad& load) {
  const bool measured = load.memory_bytes() > 0;
  const bool has_storage = load.storage_bytes() > 0;
  const auto bytes = [](bool known, uint64_t count) { return known ? Json(count) : Json(); };
  return {{"cores", load.cores()},
          {"busy_cores", Number(measured && load.busy_cores() >= 0, load.busy_cores())},
          {"memory_bytes", bytes(measured, load.memory_bytes())},
          {"available_memory_bytes", bytes(measured, load.available_memory_bytes())},
          {"storage_bytes", bytes(has_storage, load.storage_bytes())},
          {"free_storage_bytes", bytes(has_storage, load.free_storage_bytes())}};
}

Json RunFields(const v1::Run& run) {
  Json json = {{"id", run.run_id()},
               {"name", run.name()},
               {"state", client::StateName(run.state())},
               {"reason", run.reason()},
               {"terminal", client::IsTerminal(run.state())},
               {"submitted_at", Time(run.has_submitted_at(), run.submitted_at())},
               {"started_at", Time(run.has_started_at(), run.started_at())},
               {"finished_at", Time(run.has_finished_at(), run.finished_at())}};
  PutProgress(run.progress(), json);
  const double left = client::SecondsLeft(run.progress());
  json["seconds_left"] = Number(left >= 0 && !client::IsTerminal(run.state()), left);
  json["workers"] = run.workers();
  json["placement"] = PlacementOf(run);
  json["latest_checkpoint"] = StepOrNull(run.latest_checkpoint_step());
  json["best_checkpoint"] = StepOrNull(run.best_checkpoint_step());
  json["failures"] = run.failures();
  json["epoch"] = run.epoch();
  json["warning"] = TextOrNull(run.progress().warning());
  json["queue_position"] = run.queue_position() > 0 ? Json(run.queue_position()) : Json();
  json["initial_model"] = TextOrNull(run.initial_model());
  if (run.has_parent()) {
    json["parent"] = {{"run_id", run.parent().run_id()},
                      {"leg", run.parent().leg()},
                      {"step", run.parent().step()}};
  }
  if (run.has_use()) json["use"] = UseFields(run.use());
  json["submitted_by"] = TextOrNull(run.submitted_by());
  json["labels"] = Json::object();
  const std::map<std::string, std::string> labels(run.labels().begin(), run.labels().end());
  for (const auto& [key, value] : labels) json["labels"][key] = value;
  json["note"] = TextOrNull(run.note());
  return json;
}

Json SlotFields(const Board& board, const v1::Slot& slot) {
  const v1::Run* run = slot.run_id().empty() ? nullptr : FindRun(board, slot.run_id());
  Json json = {{"id", slot.slot_id()},
               {"device", slot.device()},
               {"device_name", slot.device_name()},
               {"cores", slot.cores_size()},
               {"memory_bytes", slot.memory_bytes()},
               {"run", run == nullptr ? TextOrNull(slot.run_id()) : Json(run->name())},
               {"run_id", TextOrNull(slot.run_id())},
               {"problem", TextOrNull(slot.problem())}};
  if (slot.has_use()) json["use"] = UseFields(slot.use());
  return json;
}

// The checkpoint's model name; null if it is not served.
Json ModelOf(const RunModels& models, const v1::Checkpoint& checkpoint) {
  const bool is_served =
      !checkpoint.has_quarantined_at() &&
      std::find(models.steps.begin(), models.steps.end(), checkpoint.step()) != models.steps.end();
  return is_served ? Json(fmt::format("{}@{}", models.root, checkpoint.step())) : Json();
}

Json CheckpointFields(const RunModels& models, const v1::Checkpoint& checkpoint) {
  return {
      {"step", checkpoint.step()},
      {"epoch", checkpoint.epoch()},
      {"size_bytes", checkpoint.size_bytes()},
      {"validation_loss", Number(checkpoint.has_validation_loss(), checkpoint.validation_loss())},
      {"sealed_at", Time(checkpoint.has_sealed_at(), checkpoint.sealed_at())},
      {"latest", checkpoint.latest()},
      {"best", checkpoint.best()},
      {"model", ModelOf(models, checkpoint)},
      {"quarantined", TextOrNull(checkpoint.quarantine_reason())}};
}

Json EventFields(const v1::RunEvent& event) {
  return {{"sequence", event.sequence()},
          {"at", Time(event.has_at(), event.at())},
          {"state", client::StateName(event.state())},
          {"kind", event.kind()},
          {"actor", event.actor()},
          {"reason", event.reason()},
          {"epoch", event.epoch()}};
}

// JSON has no such numbers, so they are strings there.
const char* NameOfNotFinite(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

Json Score(double value) {
  return std::isfinite(value) ? Json(value) : Json(NameOfNotFinite(value));
}

// Appends the shortest decimal that reads back as the same number.
template <typename Number>
void AppendNumber(Number value, std::string& out) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(value)) {
      fmt::format_to(std::back_inserter(out), "\"{}\"", NameOfNotFinite(value));
      return;
    }
  }
  fmt::format_to(std::back_inserter(out), "{}", value);
}

// Appends "name":[…] with append(point, out) for each point.
template <typename Append>
void AppendColumn(const char* name, std::span<const Point> points, const Append& append,
                  std::string& out) {
  fmt::format_to(std::back_inserter(out), "\"{}\":[", name);
  for (const Point& point : points) {
    if (&point != points.data()) out += ',';
    append(point, out);
  }
  out += ']';
}

void AppendMeasurement(const Point& point, size_t column, std::string& out) {
  point.measured[column] ? AppendNumber(point.columns[column], out) : void(out += "null");
}

// Appends "scores":[…]: an object for each point with scores, otherwise null.
void AppendScores(std::span<const Point> points, std::string& out) {
  out += "\"scores\":[";
  for (const Point& point : points) {
    if (&point != points.data()) out += ',';
    Json scores;
    if (point.scores != nullptr) {
      for (const auto& [name, value] : *point.scores) scores[name] = Score(value);
    }
    out += scores.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  out += ']';
}

void AppendColumns(std::span<const Point> points, std::string& out) {
  AppendColumn(
      "step", points, [](const Point& p, std::string& to) { AppendNumber(p.step, to); }, out);
  AppendColumn(
      "at", points, [](const Point& p, std::string& to) { AppendNumber(p.at, to); }, out += ',');
  AppendColumn(
      "tokens", points, [](const Point& p, std::string& to) { AppendNumber(p.tokens, to); },
      out += ',');
  size_t column = 0;
  contract::TrainingPoint::ForEachField([&](const contract::FieldInfo& field, auto) {
    if (!field.charted) return;
    AppendColumn(
        field.name, points,
        [column](const Point& p, std::string& to) { AppendMeasurement(p, column, to); },
        out += ',');
    ++column;
  });
  AppendScores(points, out += ',');
}

// `counts`: the number of all runs in each state. `total`: the number of runs that match the list's
// filters.
template <typename Runs>
Json ListDocument(const Board& board, const Runs& runs, std::optional<int64_t> total,
                  const std::map<v1::RunState, int64_t>& counts) {
  Json document = {{"coordinator",
                    {{"connected", board.connected},
                     {"address", board.address},
                     {"message", TextOrNull(board.message)}}},
                   {"runs", Json::array()},
                   {"total", total ? Json(*total) : Json()},
                   {"counts", Json::object()}};
  for (const v1::Run& run : runs) document["runs"].push_back(RunFields(run));
  for (const auto& [state, count] : counts) document["counts"][client::StateName(state)] = count;
  return document;
}

}  // namespace

Json RunsDocument(const Board& board) {
  return ListDocument(board, board.runs, board.total, board.counts);
}

Json RunsDocument(const Board& board, const v1::ListResponse& page) {
  std::map<v1::RunState, int64_t> counts;
  for (const v1::StateCount& count : page.state_counts()) counts[count.state()] = count.runs();
  Json document = ListDocument(
      board, page.runs(), page.has_total() ? std::optional(page.total()) : std::nullopt, counts);
  document["next_page_token"] = TextOrNull(page.next_page_token());
  return document;
}

Json WorkersDocument(const Board& board) {
  Json workers = Json::array();
  for (const v1::Node& node : board.nodes) {
    Json slots = Json::array();
    for (const v1::Slot& slot : node.slots()) slots.push_back(SlotFields(board, slot));
    const std::string& problem =
        node.storage_problem().empty() ? node.gpu_problem() : node.storage_problem();
    workers.push_back({{"id", node.node_id()},
                       {"name", node.name()},
                       {"connected", node.connected()},
                       {"version", node.version()},
                       {"last_heard_at", Time(node.has_last_heard_at(), node.last_heard_at())},
                       {"gpu_driver", TextOrNull(node.gpu_driver())},
                       {"problem", TextOrNull(problem)},
                       {"slots", std::move(slots)}});
    if (node.has_load()) workers.back()["load"] = LoadFields(node.load());
  }
  return {{"workers", std::move(workers)}};
}

Json RunDocument(const Board& board, const RunDetails& details, const RunModels& models) {
  // Prefer the board's state of the run, which is refreshed more often than the details.
  const v1::Run* newer = FindRun(board, details.run.run_id());
  Json run = RunFields(newer == nullptr ? details.run : *newer);
  run["namespace"] = details.run.namespace_();
  run["resolved"] = details.run.resolved();
  run["model"] = TextOrNull(models.root);
  Json checkpoints = Json::array();
  for (const v1::Checkpoint& checkpoint : details.checkpoints) {
    checkpoints.push_back(CheckpointFields(models, checkpoint));
  }
  Json events = Json::array();
  for (const v1::RunEvent& event : details.events) events.push_back(EventFields(event));
  Json samples = Json::array();
  for (const Sample& sample : details.samples) {
    samples.push_back({{"step", sample.step}, {"text", sample.text}});
  }
  return {{"run", std::move(run)},
          {"checkpoints", std::move(checkpoints)},
          {"events", std::move(events)},
          {"samples", std::move(samples)}};
}

StatusOr<Json> DifferencesDocument(std::span<const v1::Run> runs) {
  ASSIGN_OR_RETURN(const auto differences, client::FindKeyDifferences(runs));
  Json document = {{"runs", Json::array()}, {"keys", Json::array()}};
  for (const v1::Run& run : runs) {
    document["runs"].push_back({{"id", run.run_id()}, {"name", run.name()}});
  }
  for (const client::KeyDifference& difference : differences) {
    Json values = Json::array();
    for (const auto& value : difference.values) values.push_back(value ? Json(*value) : Json());
    document["keys"].push_back({{"key", difference.key}, {"values", std::move(values)}});
  }
  return document;
}

std::string PointsText(const std::string& run_id, size_t total, std::span<const Point> points) {
  std::string out = fmt::format("{{\"run\":{},\"total\":{},", Text(Json(run_id)), total);
  AppendColumns(points, out);
  return out + "}";
}

std::string MessageText(const std::string& type, Json document) {
  Json message = {{"type", type}};
  message.update(document);
  return Text(message);
}

std::string PointsMessageText(const std::string& run_id, std::span<const Point> points) {
  std::string out =
      fmt::format("{{\"type\":\"points\",\"run\":{},\"points\":{{", Text(Json(run_id)));
  AppendColumns(points, out);
  return out + "}}";
}

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gp::gateway
