#include "interop/model_format.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/file.h"
#include "formats/checkpoint_directory.h"
#include "formats/random_access_file.h"
#include "interop/gguf_model.h"
#include "interop/hugging_face_directory.h"
#include "interop/llmc_model.h"
#include "interop/model_card.h"
#include "interop/model_tokenizer.h"
#include "interop/nanogpt_directory.h"
#include "interop/new_directory.h"
#include "interop/parent_checkpoint.h"
#include "interop/unread_model.h"
#include "storage/local_storage.h"

namespace gp::interop {
namespace {

constexpr char kLlmcName[] = "model.bin";

struct FormatName {
  ModelFormat format;
  std::string_view name;
};
constexpr FormatName kFormatNames[] = {{ModelFormat::kCheckpoint, "gp"},
                                       {ModelFormat::kHuggingFace, "hf"},
                                       {ModelFormat::kLlmc, "llmc"},
                                       {ModelFormat::kNanoGpt, "nanogpt"}};

bool IsDirectory(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// llm.c's file in a directory that gp exported, or the file itself.
std::string LlmcFileOf(const std::string& path) {
  return IsDirectory(path) ? JoinPath(path, kLlmcName) : path;
}

bool HoldsLlmc(const std::string& path) {
  const auto file = formats::RandomAccessFile::Open(LlmcFileOf(path));
  std::array<char, sizeof(int32_t)> bytes{};
  if (!file.ok() || file->size_bytes() < bytes.size() || !file->Read(0, bytes).ok()) return false;
  return IsLlmc({bytes.data(), bytes.size()});
}

// Refuses a checkpoint of a run whose save did not end: the manifest is written last.
Status RefuseIncomplete(const std::string& path) {
  const bool of_run = BaseNameOf(DirectoryOf(path)) == "checkpoints" &&
                      BaseNameOf(path).starts_with("step-") && IsDirectory(path);
  if (!of_run) return OkStatus();
  return NotFound(
      "{} has no {}: this checkpoint was never completed, or its files are being deleted; name "
      "another one ('gpctl ckpt list RUN' lists them)",
      path, formats::kManifestName);
}

Status WriteFormat(const CheckpointModel& checkpoint, ExportFormat format,
                   const CopyOptions& options, const NewDirectory& directory) {
  const ModelSource& source = *checkpoint.model;
  switch (format) {
    case ExportFormat::kHuggingFace:
      return WriteHuggingFace(source, options, directory);
    case ExportFormat::kLlmc:
      return WriteLlmc(source, options, directory.File(kLlmcName));
    case ExportFormat::kNanoGpt:
      return WriteNanoGpt(source, options, directory);
    case ExportFormat::kGguf:
      break;
  }
  return WriteGguf(source, checkpoint.manifest.run_name, options, directory.File("model.gguf"));
}

runspec::InitialModel InitialModelOf(const std::string& path, const runspec::ModelShape& shape,
                                     const std::shared_ptr<const Tokenizer>& tokenizer) {
  runspec::InitialModel model{.path = path, .shape = shape};
  model.tokenizer = TokenizerName(path, shape, tokenizer.get());
  if (tokenizer == nullptr) return model;
  model.has_tokens_of = [tokenizer](const std::string& name) {
    return GivesTokensOf(*tokenizer, name);
  };
  return model;
}

}  // namespace

std::string_view ModelFormatName(ModelFormat format) {
  for (const FormatName& known : kFormatNames) {
    if (known.format == format) return known.name;
  }
  return "";
}

std::optional<ModelFormat> ModelFormatOf(std::string_view name) {
  for (const FormatName& known : kFormatNames) {
    if (known.name == name) return known.format;
  }
  return std::nullopt;
}

std::optional<ExportFormat> ExportFormatOf(std::string_view name) {
  if (name == "hf") return ExportFormat::kHuggingFace;
  if (name == "llmc") return ExportFormat::kLlmc;
  if (name == "nanogpt") return ExportFormat::kNanoGpt;
  if (name == "gguf") return ExportFormat::kGguf;
  return std::nullopt;
}

StatusOr<ModelFormat> DetectModelFormat(const std::string& path) {
  if (!FileExists(path)) return NotFound("{} does not exist", path);
  if (FileExists(JoinPath(path, formats::kManifestName))) return ModelFormat::kCheckpoint;
  if (IsNanoGpt(path)) return ModelFormat::kNanoGpt;
  if (FileExists(JoinPath(path, "config.json"))) return ModelFormat::kHuggingFace;
  if (HoldsLlmc(path)) return ModelFormat::kLlmc;
  RETURN_IF_ERROR(RefuseIncomplete(path));
  RETURN_IF_ERROR(RefuseUnread(path));
  return NotFound(
      "{} is not a model that gp reads: expected a directory with config.json (Hugging Face), "
      "model_args.json (nanoGPT) or manifest.json (gp), or a model file of llm.c",
      path);
}

StatusOr<std::unique_ptr<ModelSource>> OpenModel(const std::string& path, ModelFormat format) {
  switch (format) {
    case ModelFormat::kHuggingFace:
      return OpenHuggingFace(path);
    case ModelFormat::kLlmc:
      return OpenLlmc(LlmcFileOf(path));
    case ModelFormat::kNanoGpt:
      return OpenNanoGpt(path);
    case ModelFormat::kCheckpoint:
      break;
  }
  ASSIGN_OR_RETURN(CheckpointModel checkpoint, OpenCheckpointModel(path));
  return std::move(checkpoint.model);
}

StatusOr<std::unique_ptr<ModelSource>> OpenModelAt(const std::string& path) {
  ASSIGN_OR_RETURN(const ModelFormat format, DetectModelFormat(path));
  return OpenModel(path, format);
}

StatusOr<runspec::InitialModel> FindModelAt(const std::string& path) {
  ASSIGN_OR_RETURN(const ModelFormat format, DetectModelFormat(path));
  // Reads only the manifest, so the weights need not be digested.
  if (format == ModelFormat::kCheckpoint) {
    ASSIGN_OR_RETURN(const auto manifest, formats::ReadManifest(LocalStorage(), path));
    ASSIGN_OR_RETURN(const auto tokenizer, TokenizerIn(path));
    auto initial = InitialModelOf(path, manifest.shape, tokenizer);
    initial.state = ParentStateOf(path, manifest);
    return initial;
  }
  ASSIGN_OR_RETURN(const auto model, OpenModel(path, format));
  auto initial = InitialModelOf(path, model->shape(), model->tokenizer());
  initial.state = NoParentState(format);
  return initial;
}

Status ExportModel(const CheckpointModel& checkpoint, ExportFormat format,
                   const CopyOptions& options, const std::string& directory) {
  ASSIGN_OR_RETURN(NewDirectory fresh, NewDirectory::Begin(directory));
  RETURN_IF_ERROR(WriteFormat(checkpoint, format, options, fresh));
  RETURN_IF_ERROR(fresh.Write("README.md", ModelCard(checkpoint, format, options.type)));
  return fresh.Commit();
}

}  // namespace gp::interop
