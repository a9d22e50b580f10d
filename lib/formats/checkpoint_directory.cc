#include "formats/checkpoint_directory.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include "base/file.h"
#include "base/text/shell_word.h"
#include "formats/file_digest.h"
#include "formats/file_kind.h"
#include "formats/safetensors.h"
#include "formats/sha256.h"
#include "storage/local_storage.h"

namespace gp::formats {
namespace {

constexpr uint64_t kTokenizerBytesMax = 256 << 20;

constexpr char kQuarantineMark[] = ".quarantined";
constexpr char kRenamedEnding[] = ".damaged";

// Files in which other programs keep a model: in forms that gp imports, and in forms that it does
// not read.
constexpr const char* kModelsOfOthers[] = {"config.json", "model_args.json", "model.safetensors",
                                           "model.bin"};
constexpr const char* kUnreadModels[] = {
    "pytorch_model.bin", "pytorch_model.bin.index.json", "ckpt.pt",    "adapter_config.json",
    "tf_model.h5",       "flax_model.msgpack",           "model.gguf", "training_args.bin"};

std::string FirstIn(const Storage& storage, const std::string& directory,
                    std::span<const char* const> names) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const char* name) {
    return Exists(storage, JoinPath(directory, name));
  });
  return found == names.end() ? "" : *found;
}

// The output of a transformers Trainer: folders such as checkpoint-500.
std::string CheckpointOfTrainer(const Storage& storage, const std::string& directory) {
  const auto names = storage.List(directory);
  if (!names.ok()) return "";
  const auto found = std::find_if(names->begin(), names->end(), [](const std::string& name) {
    return name.starts_with("checkpoint-");
  });
  return found == names->end() ? "" : *found;
}

std::string ImportText(const std::string& path) {
  return fmt::format("import it as the checkpoint ./imported: gpctl import {} --name imported",
                     ShellWord(path));
}

// Returns text such as "; it holds a model of another program (config.json), which …: gpctl import
// DIR --name imported", where `it` is the word that the message uses for the directory.
std::string ImportHint(const Storage& storage, const std::string& directory, std::string_view it) {
  if (const std::string name = FirstIn(storage, directory, kModelsOfOthers); !name.empty()) {
    return fmt::format("; {} holds a model of another program ({}); {}", it, name,
                       ImportText(directory));
  }
  std::string unread = FirstIn(storage, directory, kUnreadModels);
  if (unread.empty()) unread = CheckpointOfTrainer(storage, directory);
  if (unread.empty()) return "";
  return fmt::format(
      "; {} holds a model of another program in a format that gp does not read ({}); to see how to "
      "convert it, run: gpctl import {} --name imported",
      it, unread, ShellWord(directory));
}

bool IsModelOfLlmC(const Storage& storage, const std::string& path) {
  std::string begin;
  const auto add = [&begin](std::string_view piece) {
    begin += piece.substr(0, kKindBytes - begin.size());
    return begin.size() < kKindBytes ? OkStatus() : Cancelled("read enough");
  };
  storage.Stream(path, add).IgnoreError();
  const FileKind* kind = RecogniseKind(begin);
  return kind != nullptr && kind->what == "a model of llm.c";
}

// A hint that leads from a file to the model that it belongs to.
std::string FileHint(const Storage& storage, const std::string& path) {
  const std::string directory = DirectoryOf(path);
  if (Exists(storage, JoinPath(directory, kManifestName))) {
    return "; name its directory: " + ShellWord(directory);
  }
  if (IsModelOfLlmC(storage, path)) return "; it is a model of llm.c; " + ImportText(path);
  return ImportHint(storage, directory, "its directory");
}

Status RefuseFile(const Storage& storage, const std::string& path) {
  if (!Exists(storage, path)) return OkStatus();
  return NotFound("{} is a file; expected the directory of a checkpoint or of a run{}", path,
                  FileHint(storage, path));
}

// Step and epoch from the manifest; if that is unreadable, from the directory's name.
std::tuple<int64_t, uint64_t> PlaceInTime(const FoundCheckpoint& found) {
  if (found.manifest.ok()) return {found.manifest->step, found.manifest->epoch};
  int64_t step = 0;
  uint64_t epoch = 0;
  const std::string name = BaseNameOf(found.directory);
  if (std::sscanf(name.c_str(), "step-%" SCNd64 "-e%" SCNu64, &step, &epoch) != 2) return {0, 0};
  return {step, epoch};
}

// Finds a tokenizer file that was already written wrong: a matching digest only shows that it did
// not change.
Status VerifyTokenizer(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, LocalStorage().Get(path, kTokenizerBytesMax));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("kind") && json["kind"].is_string()) return OkStatus();
  return DataLoss("{} does not describe a tokenizer: it is not a JSON object with a 'kind'", path);
}

Status VerifyTensors(const std::string& path) {
  ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  for (const TensorEntry& tensor : file.header().tensors) {
    if (tensor.dtype != "F32") continue;
    const std::string_view bytes = file.Data(tensor);
    for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      if (std::isfinite(value)) continue;
      return DataLoss("{}: tensor '{}' is not finite at element {} ({})", path, tensor.name,
                      at / sizeof(float), value);
    }
  }
  return OkStatus();
}

Status VerifyDigest(const Storage& storage, const std::string& directory,
                    const CheckpointFile& file, const std::stop_token& stop) {
  const std::string path = JoinPath(directory, file.name);
  const auto size = storage.Size(path);
  if (size.status().code() == StatusCode::kNotFound) {
    return DataLoss("{} is missing ({}); the checkpoint is damaged", path, Message(size.status()));
  }
  RETURN_IF_ERROR(size.status());
  if (*size != file.size_bytes) {
    return DataLoss("{} has {} bytes, its manifest says {}; the checkpoint is damaged", path, *size,
                    file.size_bytes);
  }
  ASSIGN_OR_RETURN(const std::string digest, DigestOfFile(storage, path, file.digest_kind, stop));
  if (digest != file.digest) {
    return DataLoss("{} has the {} {}, its manifest says {}; the checkpoint is damaged", path,
                    DigestName(file.digest_kind), digest, file.digest);
  }
  return OkStatus();
}

Status VerifyContent(const std::string& directory, const CheckpointFile& file) {
  const std::string path = JoinPath(directory, file.name);
  if (file.name == kTokenizerName) return VerifyTokenizer(path);
  return file.name.ends_with(".safetensors") ? VerifyTensors(path) : OkStatus();
}

StatusOr<const CheckpointFile*> FindListed(const CheckpointManifest& manifest,
                                           const std::string& directory, const std::string& name) {
  for (const CheckpointFile& file : manifest.files) {
    if (file.name == name) return &file;
  }
  return DataLoss("the manifest of {} does not list {}; the checkpoint is damaged", directory,
                  name);
}

// A run cannot resume from a checkpoint without these files. An imported one is only a starting
// point.
Status VerifyFileList(const CheckpointManifest& manifest, const std::string& directory) {
  const bool imported = manifest.record.imported_from.has_value();
  for (const char* name : {kModelName, kOptimizerName, kTokenizerName}) {
    if (imported && name == std::string_view(kOptimizerName)) continue;
    RETURN_IF_ERROR(FindListed(manifest, directory, name).status());
  }
  return OkStatus();
}

}  // namespace

std::string CheckpointDirectoryName(int64_t step, uint64_t epoch, const std::string& incarnation) {
  return fmt::format("step-{:08}-e{}-{}", step, epoch, incarnation);
}

StatusOr<CheckpointManifest> ReadManifest(const Storage& storage, const std::string& directory,
                                          const std::string& expected_digest) {
  RETURN_IF_ERROR(RefuseFile(storage, directory));
  const std::string path = JoinPath(directory, kManifestName);
  const auto text = storage.Get(path, kManifestBytesMax);
  if (text.status().code() == StatusCode::kNotFound) {
    if (!storage.List(directory).ok()) {
      return NotFound(
          "{}: there is no such directory; expected a checkpoint (a directory with a {})",
          directory, kManifestName);
    }
    // A digest comes from a catalogue, which says that a sealed checkpoint was here.
    if (!expected_digest.empty()) {
      return DataLoss("{} is missing; the checkpoint is damaged", path);
    }
    return NotFound("{} holds no complete checkpoint: manifest.json is missing{}", directory,
                    ImportHint(storage, directory, "it"));
  }
  RETURN_IF_ERROR(text.status());
  if (!expected_digest.empty() && Sha256Hex(*text) != expected_digest) {
    return DataLoss("{} has the sha256 {}, the catalogue says {}; it is not the sealed checkpoint",
                    path, Sha256Hex(*text), expected_digest);
  }
  return ParseManifest(*text, path);
}

StatusOr<CheckpointManifest> VerifyDigests(const Storage& storage, const std::string& directory,
                                           const std::string& expected_digest,
                                           const std::stop_token& stop) {
  ASSIGN_OR_RETURN(CheckpointManifest manifest, ReadManifest(storage, directory, expected_digest));
  RETURN_IF_ERROR(VerifyFileList(manifest, directory));
  for (const CheckpointFile& file : manifest.files) {
    RETURN_IF_ERROR(VerifyDigest(storage, directory, file, stop));
  }
  return manifest;
}

StatusOr<CheckpointManifest> VerifyDigestsOf(const Storage& storage, const std::string& directory,
                                             const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(CheckpointManifest manifest, ReadManifest(storage, directory));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const CheckpointFile* file, FindListed(manifest, directory, name));
    RETURN_IF_ERROR(VerifyDigest(storage, directory, *file, {}));
  }
  return manifest;
}

StatusOr<CheckpointManifest> VerifyCheckpoint(const std::string& directory,
                                              const std::string& expected_digest) {
  ASSIGN_OR_RETURN(CheckpointManifest manifest,
                   VerifyDigests(LocalStorage(), directory, expected_digest));
  for (const CheckpointFile& file : manifest.files) {
    RETURN_IF_ERROR(VerifyContent(directory, file));
  }
  return manifest;
}

StatusOr<std::vector<FoundCheckpoint>> FindCheckpoints(const Storage& storage,
                                                       const std::string& parent) {
  const auto names = storage.List(parent);
  if (names.status().code() == StatusCode::kNotFound) return std::vector<FoundCheckpoint>();
  RETURN_IF_ERROR(names.status());
  const auto is_quarantined = [&](const std::string& name) {
    return std::binary_search(names->begin(), names->end(), QuarantineMark(name));
  };
  std::vector<FoundCheckpoint> found;
  for (const std::string& name : *names) {
    if (name.ends_with(kRenamedEnding) || is_quarantined(name)) continue;
    const std::string directory = JoinPath(parent, name);
    auto manifest = ReadManifest(storage, directory);
    if (manifest.status().code() == StatusCode::kNotFound) continue;
    found.push_back({directory, std::move(manifest)});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return PlaceInTime(a) > PlaceInTime(b); });
  return found;
}

std::string RenamedDamaged(const std::string& directory) { return directory + kRenamedEnding; }

std::string QuarantineMark(const std::string& directory) { return directory + kQuarantineMark; }

bool IsQuarantineMark(std::string_view name) { return name.ends_with(kQuarantineMark); }

Status Quarantine(const Storage& storage, const std::string& directory, const std::string& reason) {
  const Status put = storage.PutIfAbsent(QuarantineMark(directory), reason + "\n");
  return put.code() == StatusCode::kAlreadyExists ? OkStatus() : put;
}

Status DeleteCheckpoint(const Storage& storage, const std::string& directory) {
  RETURN_IF_ERROR(storage.Delete(JoinPath(directory, kManifestName)));
  return storage.Delete(directory);
}

StatusOr<std::optional<std::string>> FindNewestCheckpoint(const Storage& storage,
                                                          const std::string& parent) {
  ASSIGN_OR_RETURN(const auto found, FindCheckpoints(storage, parent));
  for (const FoundCheckpoint& checkpoint : found) {
    if (checkpoint.manifest.ok()) continue;
    return WithContext(checkpoint.manifest.status(),
                       "a checkpoint is damaged; remove its directory to continue without it");
  }
  if (found.empty()) return std::nullopt;
  return found.front().directory;
}

StatusOr<std::string> FindCheckpointIn(const Storage& storage, const std::string& directory) {
  RETURN_IF_ERROR(RefuseFile(storage, directory));
  if (Exists(storage, JoinPath(directory, kManifestName))) return directory;
  for (const std::string& parent : {JoinPath(directory, "checkpoints"), directory}) {
    ASSIGN_OR_RETURN(const auto newest, FindNewestCheckpoint(storage, parent));
    if (newest) return *newest;
  }
  return NotFound(
      "{}: {}; expected a checkpoint (a directory with a {}) or a run's "
      "directory{}",
      directory,
      storage.List(directory).ok() ? "it holds no checkpoint" : "there is no such directory",
      kManifestName, ImportHint(storage, directory, "it"));
}

}  // namespace gp::formats
