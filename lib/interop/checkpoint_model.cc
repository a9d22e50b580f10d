#include "interop/checkpoint_model.h"

#include <utility>

#include "base/file.h"
#include "formats/checkpoint_directory.h"
#include "interop/new_directory.h"
#include "interop/safetensors_model.h"
#include "interop/safetensors_writer.h"
#include "storage/local_storage.h"

namespace gp::interop {
namespace {

using formats::CheckpointFile;
using formats::CheckpointManifest;

constexpr uint64_t kTokenizerBytesMax = 256 << 20;

StatusOr<std::shared_ptr<const Tokenizer>> ReadOwnTokenizer(const std::string& directory) {
  const std::string path = JoinPath(directory, formats::kTokenizerName);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kTokenizerBytesMax));
  auto tokenizer = ParseTokenizer(text);
  RETURN_IF_ERROR(WithContext(tokenizer.status(), path));
  return *std::move(tokenizer);
}

StatusOr<CheckpointFile> WriteDigested(const NewDirectory& directory, const std::string& name,
                                       const std::string& text) {
  ASSIGN_OR_RETURN(ModelFile file, ModelFile::Create(directory.File(name)));
  RETURN_IF_ERROR(file.Append(text));
  return file.Close();
}

}  // namespace

StatusOr<CheckpointModel> OpenCheckpointModel(const std::string& directory) {
  CheckpointModel checkpoint;
  ASSIGN_OR_RETURN(checkpoint.manifest,
                   formats::VerifyDigestsOf(LocalStorage(), directory,
                                            {formats::kModelName, formats::kTokenizerName}));
  ASSIGN_OR_RETURN(auto tokenizer, ReadOwnTokenizer(directory));
  ASSIGN_OR_RETURN(TensorSet tensors,
                   TensorSet::OpenFile(JoinPath(directory, formats::kModelName)));
  ASSIGN_OR_RETURN(checkpoint.model,
                   SafetensorsModel::Open(directory, checkpoint.manifest.shape, {},
                                          std::move(tensors), std::move(tokenizer)));
  return checkpoint;
}

Status WriteCheckpointModel(const ModelSource& source, const Tokenizer& tokenizer,
                            const std::string& name, const std::string& directory,
                            const CopyOptions& options) {
  ASSIGN_OR_RETURN(NewDirectory fresh, NewDirectory::Begin(directory));
  CheckpointManifest manifest{.run_id = name,
                              .run_name = name,
                              .incarnation = "import",
                              .shape = source.shape(),
                              .data_fingerprint = "none",
                              .tokenizer_fingerprint = tokenizer.Fingerprint(),
                              .record = {.imported_from = source.path()}};
  ASSIGN_OR_RETURN(auto weights,
                   WriteSafetensors(source, source.shape(), {}, formats::WeightsMetadata(0),
                                    options, fresh.File(formats::kModelName)));
  ASSIGN_OR_RETURN(auto text,
                   WriteDigested(fresh, formats::kTokenizerName, tokenizer.Serialized()));
  manifest.files = {std::move(weights), std::move(text)};
  RETURN_IF_ERROR(fresh.Write(formats::kManifestName, FormatManifest(manifest)));
  return fresh.Commit();
}

}  // namespace gp::interop
