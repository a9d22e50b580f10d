#include "formats/checkpoint_manifest.h"

#include <cmath>

#include "formats/json_object.h"
#include "formats/plain_name.h"
#include "plan/model_shape_limits.h"

namespace gp::formats {
namespace {

using Json = JsonObject::Json;

constexpr int kVersion = 2;
constexpr std::string_view kFormat = "gp-checkpoint";

Json ShapeJson(const runspec::ModelShape& shape) {
  return {{"n_layer", shape.layers},   {"n_head", shape.heads},
          {"n_embd", shape.channels},  {"n_ctx", shape.context},
          {"vocab", shape.vocabulary}, {"vocab_padded", shape.vocabulary_padded},
          {"bias", shape.bias},        {"gelu", shape.gelu == runspec::Gelu::kErf ? "erf" : "tanh"},
          {"dropout", shape.dropout},  {"tie_embeddings", shape.tied_head}};
}

constexpr char kDamaged[] = "the checkpoint is damaged";

Status ReadShape(const Json& json, const std::string& path, runspec::ModelShape& shape) {
  JsonObject reader(json, path + ": model", kDamaged);
  std::string gelu;
  reader.Read("n_layer", shape.layers);
  reader.Read("n_head", shape.heads);
  reader.Read("n_embd", shape.channels);
  reader.Read("n_ctx", shape.context);
  reader.Read("vocab", shape.vocabulary);
  reader.Read("vocab_padded", shape.vocabulary_padded);
  reader.Read("bias", shape.bias);
  reader.Read("gelu", gelu);
  reader.Read("dropout", shape.dropout);
  reader.Read("tie_embeddings", shape.tied_head);
  if (reader.status().ok() && gelu != "erf" && gelu != "tanh") {
    reader.Fail("'gelu' is neither erf nor tanh");
  }
  shape.gelu = gelu == "erf" ? runspec::Gelu::kErf : runspec::Gelu::kTanh;
  const std::string problem = runspec::ProblemWithSizes(shape);
  if (reader.status().ok() && !problem.empty()) reader.Fail(problem);
  return reader.status();
}

Status ReadFiles(const Json& json, const std::string& path, std::vector<CheckpointFile>& files) {
  if (!json.is_array()) return DataLoss("{}: 'files' is not a list", path);
  for (const Json& entry : json) {
    CheckpointFile file;
    JsonObject reader(entry, path + ": files", kDamaged);
    reader.Read("name", file.name);
    reader.Read("size_bytes", file.size_bytes);
    const bool fast = entry.is_object() && entry.contains(DigestName(DigestKind::kXxh3));
    file.digest_kind = fast ? DigestKind::kXxh3 : DigestKind::kSha256;
    reader.Read(DigestName(file.digest_kind).data(), file.digest);
    if (reader.status().ok() && !IsPlainName(file.name)) {
      reader.Fail(fmt::format("'{}' is not a plain file name", file.name));
    }
    RETURN_IF_ERROR(reader.status());
    files.push_back(std::move(file));
  }
  return OkStatus();
}

StatusOr<TrainingRecord> ReadRecord(const Json& json, const std::string& path) {
  if (!json.is_object()) return DataLoss("{}: 'record' is not an object", path);
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return DataLoss("{}: record '{}' is not a string", path, key);
    texts[key] = value.get<std::string>();
  }
  auto record = ParseTrainingRecord(texts);
  if (!record.ok()) return DataLoss("{}: {}; {}", path, Message(record.status()), kDamaged);
  return record;
}

Status CheckVersion(JsonObject& reader, const std::string& path) {
  std::string format;
  int64_t version = 0;
  reader.Read("format", format);
  reader.Read("version", version);
  RETURN_IF_ERROR(reader.status());
  if (format != kFormat) return DataLoss("{} is not the manifest of a gp checkpoint", path);
  if (version == kVersion) return OkStatus();
  return FailedPrecondition("{} has format version {}; this program reads version {}", path,
                            version, kVersion);
}

}  // namespace

uint64_t CheckpointManifest::SizeBytes() const {
  uint64_t total = 0;
  for (const CheckpointFile& file : files) total += file.size_bytes;
  return total;
}

std::map<std::string, std::string> WeightsMetadata(int64_t step) {
  return {{"gp.step", fmt::format("{}", step)}, {"gp.linear", "out_features, in_features"}};
}

std::string FormatManifest(const CheckpointManifest& manifest) {
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"run_id", manifest.run_id},
               {"run_name", manifest.run_name},
               {"incarnation", manifest.incarnation},
               {"epoch", manifest.epoch},
               {"step", manifest.step},
               {"tokens", manifest.tokens},
               {"model", ShapeJson(manifest.shape)},
               {"data_fingerprint", manifest.data_fingerprint},
               {"tokenizer_fingerprint", manifest.tokenizer_fingerprint},
               {"record", TextsOf(manifest.record)}};
  if (manifest.validation_loss && std::isfinite(*manifest.validation_loss)) {
    json["validation_loss"] = *manifest.validation_loss;
  }
  json["files"] = Json::array();
  for (const CheckpointFile& file : manifest.files) {
    json["files"].push_back({{"name", file.name},
                             {"size_bytes", file.size_bytes},
                             {DigestName(file.digest_kind), file.digest}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

StatusOr<CheckpointManifest> ParseManifest(std::string_view text, const std::string& path) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return DataLoss("{} is not a JSON object; the checkpoint is damaged", path);
  CheckpointManifest manifest;
  JsonObject reader(json, path, kDamaged);
  RETURN_IF_ERROR(CheckVersion(reader, path));
  reader.Read("run_id", manifest.run_id);
  reader.Read("run_name", manifest.run_name);
  reader.Read("incarnation", manifest.incarnation);
  reader.Read("epoch", manifest.epoch);
  reader.Read("step", manifest.step);
  reader.Read("tokens", manifest.tokens);
  reader.Read("data_fingerprint", manifest.data_fingerprint);
  reader.Read("tokenizer_fingerprint", manifest.tokenizer_fingerprint);
  const Json *shape = reader.Value("model"), *record = reader.Value("record"),
             *files = reader.Value("files");
  RETURN_IF_ERROR(reader.status());
  RETURN_IF_ERROR(ReadShape(*shape, path, manifest.shape));
  ASSIGN_OR_RETURN(manifest.record, ReadRecord(*record, path));
  RETURN_IF_ERROR(ReadFiles(*files, path, manifest.files));
  if (json.contains("validation_loss")) {
    double loss = 0;
    reader.Read("validation_loss", loss);
    manifest.validation_loss = loss;
  }
  RETURN_IF_ERROR(reader.status());
  return manifest;
}

}  // namespace gp::formats
