#include "worker/checkpoint/checkpoint_reader.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "formats/sha256.h"
#include "worker/checkpoint/damage.h"

namespace gp::engine {
namespace {

using formats::CheckpointFile;
using formats::CheckpointManifest;

constexpr uint64_t kTokenizerBytesMax = 256 << 20;

std::string Describe(const runspec::ModelShape& shape) {
  return fmt::format(
      "n_layer {}, n_head {}, n_embd {}, n_ctx {}, vocab {} padded to {}, bias {}, gelu {}, "
      "tie_embeddings {}",
      shape.layers, shape.heads, shape.channels, shape.context, shape.vocabulary,
      shape.vocabulary_padded, shape.bias, shape.gelu == runspec::Gelu::kErf ? "erf" : "tanh",
      shape.tied_head);
}

// Dropout does not belong to the weights: a run may resume with another value.
bool SameWeights(runspec::ModelShape a, const runspec::ModelShape& b) {
  a.dropout = b.dropout;
  return a == b;
}

Status CheckFits(const CheckpointManifest& manifest, const std::string& directory,
                 const CheckpointExpectation& expected) {
  if (!SameWeights(manifest.shape, expected.shape)) {
    return FailedPrecondition("the checkpoint {} is of another model: it has {}; the run has {}",
                              directory, Describe(manifest.shape), Describe(expected.shape));
  }
  const auto differs = [](const std::string& wanted, const std::string& found) {
    return !wanted.empty() && wanted != found;
  };
  if (differs(expected.tokenizer_fingerprint, manifest.tokenizer_fingerprint)) {
    return FailedPrecondition(
        "the checkpoint {} was made with another tokenizer (fingerprint {}, the run's is {})",
        directory, manifest.tokenizer_fingerprint, expected.tokenizer_fingerprint);
  }
  if (differs(expected.data_fingerprint, manifest.data_fingerprint)) {
    return FailedPrecondition(
        "the checkpoint {} was trained on other data (fingerprint {}, the run's is {}); restore "
        "the "
        "data, or submit a new run",
        directory, manifest.data_fingerprint, expected.data_fingerprint);
  }
  return OkStatus();
}

StatusOr<CheckpointFile> FindFile(const CheckpointManifest& manifest, const std::string& directory,
                                  const std::string& name) {
  for (const CheckpointFile& file : manifest.files) {
    if (file.name == name) return file;
  }
  return DamagedCheckpoint(fmt::format("the manifest of {} does not list {}", directory, name));
}

bool IsAny(const runspec::ParameterInfo& /*tensor*/) { return true; }
bool IsTrained(const runspec::ParameterInfo& tensor) { return tensor.trained; }

void AddTargets(const runspec::ParameterLayout& layout,
                bool (*takes)(const runspec::ParameterInfo& tensor), const std::string& prefix,
                std::span<float> buffer, std::map<std::string, TensorTarget>& targets) {
  GP_CHECK(static_cast<int64_t>(buffer.size()) == layout.total_count);
  for (const runspec::ParameterInfo& tensor : layout.tensors) {
    if (!takes(tensor)) continue;
    targets[prefix + tensor.name] = {
        tensor.shape,
        buffer.subspan(static_cast<size_t>(tensor.offset), static_cast<size_t>(tensor.count))};
  }
}

// Sets the alignment gaps between tensors to zero, as in every buffer of this layout.
void ClearGaps(const runspec::ParameterLayout& layout, std::span<float> buffer,
               const WriteInto& write) {
  for (const runspec::ParameterGap& gap : layout.Gaps()) {
    const std::vector<float> zeros(static_cast<size_t>(gap.count));
    write(buffer.data() + gap.offset, zeros.data(),
          gap.count * static_cast<int64_t>(sizeof(float)));
  }
}

Status ReadTensors(const Storage& storage, const std::string& directory,
                   const CheckpointManifest& manifest, const std::string& name,
                   std::map<std::string, TensorTarget> targets, const WriteInto& write,
                   const TensorComplete& complete = IgnoreComplete) {
  ASSIGN_OR_RETURN(CheckpointFile file, FindFile(manifest, directory, name));
  const std::string path = JoinPath(directory, name);
  TensorStream stream(path, std::move(file), std::move(targets), write, complete);
  RETURN_IF_ERROR(
      storage.Stream(path, [&](std::string_view piece) { return stream.Consume(piece); }));
  return stream.Finish();
}

}  // namespace

StatusOr<CheckpointManifest> ReadCheckpointManifest(const Storage& storage,
                                                    const std::string& directory,
                                                    const CheckpointExpectation& expected) {
  const std::string path = JoinPath(directory, formats::kManifestName);
  ASSIGN_OR_RETURN(const std::string text, storage.Get(path, formats::kManifestBytesMax));
  const std::string digest = formats::Sha256Hex(text);
  if (!expected.manifest_digest.empty() && digest != expected.manifest_digest) {
    return DataLoss("{} has the sha256 {}, the catalogue says {}; it is not the sealed checkpoint",
                    path, digest, expected.manifest_digest);
  }
  ASSIGN_OR_RETURN(CheckpointManifest manifest, formats::ParseManifest(text, path));
  RETURN_IF_ERROR(CheckFits(manifest, directory, expected));
  return manifest;
}

Status ReadWeights(const Storage& storage, const std::string& directory,
                   const CheckpointManifest& manifest, std::span<float> parameters,
                   const WriteInto& write) {
  const auto layout = runspec::MakeParameterLayout(manifest.shape);
  std::map<std::string, TensorTarget> targets;
  AddTargets(layout, IsAny, "", parameters, targets);
  ClearGaps(layout, parameters, write);
  return ReadTensors(storage, directory, manifest, formats::kModelName, std::move(targets), write);
}

Status ReadWeightsByTensor(const Storage& storage, const std::string& directory,
                           const CheckpointManifest& manifest, const WeightsSink& take) {
  const auto layout = runspec::MakeParameterLayout(manifest.shape);
  std::map<std::string, const runspec::ParameterInfo*> tensors;
  int64_t largest = 0;
  for (const runspec::ParameterInfo& tensor : layout.tensors) {
    tensors[tensor.name] = &tensor;
    largest = std::max(largest, tensor.count);
  }
  std::vector<float> buffer(static_cast<size_t>(largest));
  const auto values = [&](const runspec::ParameterInfo& tensor) {
    return std::span(buffer).first(static_cast<size_t>(tensor.count));
  };
  std::map<std::string, TensorTarget> targets;
  for (const auto& [name, tensor] : tensors) targets[name] = {tensor->shape, values(*tensor)};
  return ReadTensors(storage, directory, manifest, formats::kModelName, std::move(targets),
                     WriteIntoHost, [&](const std::string& name) {
                       const runspec::ParameterInfo& tensor = *tensors.at(name);
                       take(tensor, values(tensor));
                     });
}

Status ReadTrainingState(const Storage& storage, const std::string& directory,
                         const CheckpointManifest& manifest, const runspec::ParameterLayout& layout,
                         std::span<float> parameters, std::span<float> first_moment,
                         std::span<float> second_moment, const WriteInto& write) {
  RETURN_IF_ERROR(ReadWeights(storage, directory, manifest, parameters, write));
  RETURN_IF_ERROR(ReadTokenizer(storage, directory, manifest).status());
  std::map<std::string, TensorTarget> targets;
  AddTargets(layout, IsTrained, "exp_avg.", first_moment, targets);
  AddTargets(layout, IsTrained, "exp_avg_sq.", second_moment, targets);
  ClearGaps(layout, first_moment, write);
  ClearGaps(layout, second_moment, write);
  return ReadTensors(storage, directory, manifest, formats::kOptimizerName, std::move(targets),
                     write);
}

StatusOr<std::string> ReadTokenizer(const Storage& storage, const std::string& directory,
                                    const CheckpointManifest& manifest) {
  ASSIGN_OR_RETURN(const CheckpointFile file,
                   FindFile(manifest, directory, formats::kTokenizerName));
  const std::string path = JoinPath(directory, formats::kTokenizerName);
  ASSIGN_OR_RETURN(std::string text, storage.Get(path, kTokenizerBytesMax));
  formats::FileDigest digest(file.digest_kind);
  digest.Update(text);
  if (text.size() == file.size_bytes && digest.Finish() == file.digest) return text;
  return DamagedCheckpoint(fmt::format("{} is not the file its manifest describes", path));
}

}  // namespace gp::engine
