#include "client/gpctl/render/run_json.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/text/safe_text.h"
#include "base/text/utf8.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/render/node_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/terminal/number_text.h"
#include "formats/metrics_line.h"
#include "rpc/message_fields.h"

namespace gp::gpctl {
namespace {

// Escapes unsafe characters as \uXXXX. The JSON means the same; nlohmann escapes only characters
// below a space. REQUIRES: valid UTF-8.
std::string EscapedUnsafe(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const std::string_view before = text;
    const auto code_point = TakeCodePoint(text);
    if (*code_point >= 0x7F && IsUnsafeToShow(*code_point)) {
      escaped += fmt::format("\\u{:04x}", static_cast<uint32_t>(*code_point));
    } else {
      escaped += before.substr(0, before.size() - text.size());
    }
  }
  return escaped;
}

void PutTime(Json& json, const char* key, bool present, const google::protobuf::Timestamp& time) {
  if (present) json[key] = DateTimeText(time.seconds());
}

Json PlacementFields(const v1::Run& run) {
  Json ranks = Json::array();
  for (const v1::RankPlacement& rank : run.placement()) {
    ranks.push_back({{"rank", rank.rank()},
                     {"node_id", rank.node_id()},
                     {"node", rank.node_name()},
                     {"slot", rank.slot_id()}});
  }
  return ranks;
}

void PutText(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

Json ProgressFields(const v1::Progress& progress) {
  Json json = {{"step", progress.step()},
               {"target_steps", progress.target_steps()},
               {"tokens", progress.tokens()},
               {"target_tokens", progress.target_tokens()}};
  if (progress.step() > 0) {
    auto point = rpc::ReadFields<contract::TrainingPoint>(progress);
    point.validation_loss.reset();  // it may belong to an earlier step; added below with its step
    json.update(formats::MetricsJson(point, formats::MetricsKeys::kAll));
    json.erase("epoch");
    if (progress.pace_seconds() >= 0) json["pace_seconds"] = progress.pace_seconds();
    json["skipped_steps"] = progress.skipped_steps();
    json["skipped_spikes"] = progress.skipped_spikes();
  }
  if (progress.validation_step() > 0) {
    json["val_loss"] = progress.validation_loss();
    json["val_step"] = progress.validation_step();
  }
  if (progress.has_best_validation_loss()) {
    json["best_val_loss"] = progress.best_validation_loss();
    json["best_val_step"] = progress.best_validation_step();
    json["best_val_checkpoint"] = progress.best_validation_checkpoint();
    json["best_val_superseded"] = progress.best_validation_superseded();
  }
  return json;
}

Json EngineFields(const v1::EngineChoices& choices) {
  Json json = {{"threads_per_rank", choices.threads_per_rank()},
               {"logical_shards", choices.logical_shards()},
               {"isa", choices.isa()},
               {"kernels", Json::object()}};
  for (const auto& [level, kernels] : choices.kernels()) json["kernels"][level] = kernels;
  return json;
}

Json LegFields(const v1::Run& run) {
  Json legs = Json::array();
  for (const v1::Leg& leg : run.legs()) {
    Json one = {{"leg", leg.number()}, {"first_step", leg.first_step()}};
    if (leg.target_steps() > 0) one["target_steps"] = leg.target_steps();
    PutText(one, "why_begun", leg.why_begun());
    PutTime(one, "begun_at", leg.has_begun_at(), leg.begun_at());
    PutText(one, "why_ended", leg.why_ended());
    PutTime(one, "ended_at", leg.has_ended_at(), leg.ended_at());
    PutText(one, "resolved", leg.resolved());
    legs.push_back(std::move(one));
  }
  return legs;
}

// "sealed", "superseded" by another leg, or "quarantined".
const char* StateOf(const v1::Checkpoint& checkpoint) {
  if (checkpoint.has_quarantined_at()) return "quarantined";
  return checkpoint.superseded() ? "superseded" : "sealed";
}

Json UseFields(const v1::ResourceUse& use) {
  return {{"cores", use.cores()}, {"memory_bytes", use.memory_bytes()}};
}

// Adds what the node reports: a number that is unknown is left out.
void AddKnownLoad(const v1::MachineLoad& load, Json& fields) {
  if (load.memory_bytes() > 0) {
    if (load.busy_cores() >= 0) fields["busy_cores"] = load.busy_cores();
    fields["memory_bytes"] = load.memory_bytes();
    fields["available_memory_bytes"] = load.available_memory_bytes();
  }
  if (load.storage_bytes() > 0) {
    fields["storage_bytes"] = load.storage_bytes();
    fields["free_storage_bytes"] = load.free_storage_bytes();
  }
}

}  // namespace

Json Document(const std::string& kind) { return {{"apiVersion", "gp/v1"}, {"kind", kind}}; }

Json With(const std::string& kind, const Json& fields) {
  Json json = Document(kind);
  json.update(fields);
  return json;
}

Json RunFields(const v1::Run& run) {
  Json json = {{"run_id", run.run_id()},
               {"name", run.name()},
               {"namespace", run.namespace_()},
               {"priority", run.priority()},
               {"state", client::StateName(run.state())},
               {"reason", run.reason()},
               {"epoch", run.epoch()},
               {"failures", run.failures()},
               {"workers", run.workers()},
               {"progress", ProgressFields(run.progress())},
               {"placement", PlacementFields(run)}};
  PutTime(json, "submitted_at", run.has_submitted_at(), run.submitted_at());
  PutTime(json, "started_at", run.has_started_at(), run.started_at());
  PutTime(json, "finished_at", run.has_finished_at(), run.finished_at());
  if (run.latest_checkpoint_step() >= 0)
    json["latest_checkpoint_step"] = run.latest_checkpoint_step();
  if (run.best_checkpoint_step() >= 0) json["best_checkpoint_step"] = run.best_checkpoint_step();
  // gradients_encrypted describes the newest group of ranks.
  if (run.has_gradients_encrypted()) json["gradients_encrypted"] = run.gradients_encrypted();
  // The choices are made once, when the run's first group of ranks is ready.
  if (!run.choices().isa().empty()) json["engine"] = EngineFields(run.choices());
  for (const auto& [key, value] : run.labels()) json["labels"][key] = value;
  PutText(json, "note", run.note());
  if (run.queue_position() > 0) json["queue_position"] = run.queue_position();
  PutText(json, "device", run.device());
  PutText(json, "initial_model", run.initial_model());
  if (run.leg() > 0) json["leg"] = run.leg();
  if (run.legs_size() > 1) json["legs"] = LegFields(run);
  if (run.has_parent()) {
    json["parent"] = {{"run_id", run.parent().run_id()},
                      {"leg", run.parent().leg()},
                      {"step", run.parent().step()}};
    if (run.parent().tokens() > 0) json["parent"]["tokens"] = run.parent().tokens();
    PutText(json["parent"], "name", run.parent().run_name());
    if (run.parent().deleted()) json["parent"]["deleted"] = true;
  }
  PutText(json, "leaving_for", run.leaving_for());
  if (run.has_use()) json["use"] = UseFields(run.use());
  PutText(json, "user", UserName(run));
  PutText(json, "submitted_by", run.submitted_by());
  PutText(json, "run_directory", run.run_directory());
  PutText(json, "request_id", run.request_id());
  PutText(json, "source", run.source());
  PutText(json, "resolved", run.resolved());
  return json;
}

Json CheckpointFields(const v1::Checkpoint& checkpoint) {
  Json json = {{"run_id", checkpoint.run_id()},
               {"step", checkpoint.step()},
               {"epoch", checkpoint.epoch()},
               {"directory", checkpoint.directory()},
               {"manifest_digest", checkpoint.manifest_digest()},
               {"size_bytes", checkpoint.size_bytes()},
               {"latest", checkpoint.latest()},
               {"best", checkpoint.best()},
               {"pinned", checkpoint.pinned()},
               {"leg", checkpoint.leg()},
               {"state", StateOf(checkpoint)}};
  if (checkpoint.has_validation_loss()) json["val_loss"] = checkpoint.validation_loss();
  PutTime(json, "sealed_at", checkpoint.has_sealed_at(), checkpoint.sealed_at());
  PutText(json, "quarantine_reason", checkpoint.quarantine_reason());
  PutTime(json, "quarantined_at", checkpoint.has_quarantined_at(), checkpoint.quarantined_at());
  return json;
}

Json EventFields(const v1::RunEvent& event) {
  Json json = {{"sequence", event.sequence()},
               {"at", DateTimeText(event.at().seconds())},
               {"state", client::StateName(event.state())},
               {"event", event.kind()},
               {"actor", event.actor()},
               {"reason", event.reason()},
               {"epoch", event.epoch()}};
  PutText(json, "request_id", event.request_id());
  return json;
}

Json LogLineFields(const v1::LogLine& line) {
  return {{"sequence", line.sequence()},
          {"at", DateTimeText(line.at().seconds())},
          {"rank", line.rank()},
          {"epoch", line.epoch()},
          {"text", line.text()}};
}

Json MetricFields(const v1::MetricPoint& point) {
  Json json = formats::MetricsJson(rpc::ReadFields<contract::TrainingPoint>(point),
                                   formats::MetricsKeys::kAll);
  if (point.has_at()) json["at"] = PreciseTimeText(point.at().seconds(), point.at().nanos());
  return json;
}

Json CordonFields(const v1::Cordon& cordon) {
  Json fields = {{"drain", cordon.drain()}};
  PutText(fields, "reason", cordon.reason());
  PutText(fields, "actor", cordon.actor());
  PutTime(fields, "since", cordon.has_since(), cordon.since());
  return fields;
}

Json NodeFields(const v1::Node& node) {
  Json slots = Json::array();
  for (const v1::Slot& slot : node.slots()) {
    Json fields = {{"slot", slot.slot_id()}, {"device", slot.device()}};
    PutText(fields, "run_id", slot.run_id());
    if (slot.memory_bytes() > 0) fields["memory_bytes"] = slot.memory_bytes();
    PutText(fields, "device_name", slot.device_name());
    PutText(fields, "compute_capability", slot.compute_capability());
    PutText(fields, "problem", slot.problem());
    if (slot.has_use()) fields["use"] = UseFields(slot.use());
    slots.push_back(std::move(fields));
  }
  Json fields = {{"node_id", node.node_id()},       {"name", node.name()},
                 {"connected", node.connected()},   {"state", NodeStateName(node)},
                 {"busy_slots", node.busy_slots()}, {"version", node.version()}};
  if (node.has_cordon()) fields["cordon"] = CordonFields(node.cordon());
  PutText(fields, "gpu_driver", node.gpu_driver());
  PutText(fields, "gpu_problem", node.gpu_problem());
  PutText(fields, "storage_problem", node.storage_problem());
  if (node.has_load()) {
    fields["load"] = {{"runnable_threads", node.load().runnable_threads()},
                      {"cores", node.load().cores()},
                      {"swap_bytes_per_second", node.load().swap_bytes_per_second()}};
    AddKnownLoad(node.load(), fields["load"]);
  }
  for (const v1::DataProblem& problem : node.data_problems()) {
    fields["data_problems"].push_back({{"run_id", problem.run_id()},
                                       {"run_name", problem.run_name()},
                                       {"reason", problem.reason()}});
  }
  fields["slots"] = std::move(slots);
  return fields;
}

std::string OneLine(const Json& json) {
  return EscapedUnsafe(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string Pretty(const Json& json) {
  return EscapedUnsafe(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace gp::gpctl
