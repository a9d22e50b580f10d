#include "interop/nanogpt_directory.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "formats/strict_json.h"
#include "interop/json_fields.h"
#include "interop/safetensors_model.h"
#include "interop/safetensors_writer.h"
#include "interop/unread_model.h"
#include "plan/model_shape_limits.h"
#include "tokenizer/files/nanogpt_meta.h"

namespace gp::interop {
namespace {

using runspec::ModelShape;

constexpr char kArgumentsName[] = "model_args.json";
constexpr char kMetaName[] = "meta.pkl";
constexpr uint64_t kArgumentsBytesMax = 1 << 20;
// For a model from scratch, nanoGPT rounds GPT-2's vocabulary up.
constexpr int64_t kRoundedVocabulary = 50304;
constexpr int64_t kGpt2Vocabulary = 50257;

StatusOr<ModelShape> ParseArguments(std::string_view text, const std::string& path) {
  ASSIGN_OR_RETURN(const nlohmann::json object, formats::ParseJsonFile(text, path));
  JsonFields arguments(object, path);
  ModelShape shape;
  shape.layers = arguments.Count("n_layer");
  shape.heads = arguments.Count("n_head");
  shape.channels = arguments.Count("n_embd");
  shape.context = arguments.Count("block_size");
  shape.vocabulary = shape.vocabulary_padded = arguments.Count("vocab_size");
  shape.bias = arguments.Flag("bias", true);
  shape.dropout = arguments.Number("dropout", 0);
  shape.gelu = runspec::Gelu::kErf;
  RETURN_IF_ERROR(arguments.status());
  const std::string problem = runspec::ProblemWithSizes(shape);
  if (!problem.empty()) return InvalidArgument("{}: {}", path, problem);
  return shape;
}

std::string FormatArguments(const ModelShape& shape) {
  const nlohmann::ordered_json arguments = {
      {"n_layer", shape.layers},  {"n_head", shape.heads},
      {"n_embd", shape.channels}, {"block_size", shape.context},
      {"bias", shape.bias},       {"vocab_size", shape.vocabulary_padded},
      {"dropout", shape.dropout}};
  return arguments.dump(2) + "\n";
}

StatusOr<std::shared_ptr<const Tokenizer>> MetaTokenizer(const std::string& directory) {
  const std::string path = JoinPath(directory, kMetaName);
  if (!FileExists(path)) return std::shared_ptr<const Tokenizer>();
  ASSIGN_OR_RETURN(auto tokenizer, ReadNanoGptMeta(path));
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

// The number of ids that the tokenizer has; the rows after them are padding.
int64_t VocabularyOf(const ModelShape& shape, const Tokenizer* tokenizer) {
  if (tokenizer != nullptr) return std::min(tokenizer->vocabulary_size(), shape.vocabulary);
  return shape.vocabulary == kRoundedVocabulary ? kGpt2Vocabulary : shape.vocabulary;
}

Status CheckNanoGptComputes(const ModelShape& shape) {
  if (!shape.tied_head) {
    return FailedPrecondition("nanoGPT ties the head to the token embedding; this model does not");
  }
  if (shape.gelu == runspec::Gelu::kErf) return OkStatus();
  return FailedPrecondition(
      "nanoGPT computes the exact gelu; this model was trained with the tanh approximation "
      "(model.gelu: tanh)");
}

}  // namespace

bool IsNanoGpt(const std::string& directory) {
  return FileExists(JoinPath(directory, kArgumentsName));
}

StatusOr<std::unique_ptr<ModelSource>> OpenNanoGpt(const std::string& directory) {
  const std::string path = JoinPath(directory, kArgumentsName);
  if (!IsNanoGpt(directory)) RETURN_IF_ERROR(RefuseUnread(directory));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kArgumentsBytesMax));
  ASSIGN_OR_RETURN(ModelShape shape, ParseArguments(text, path));
  ASSIGN_OR_RETURN(TensorSet tensors, TensorSet::OpenDirectory(directory));
  ASSIGN_OR_RETURN(TensorNames names, FindTensorNames(tensors, /*transposed=*/false));
  ASSIGN_OR_RETURN(auto tokenizer, MetaTokenizer(directory));
  shape.vocabulary = VocabularyOf(shape, tokenizer.get());
  return SafetensorsModel::Open(directory, shape, std::move(names), std::move(tensors),
                                std::move(tokenizer));
}

Status WriteNanoGpt(const ModelSource& source, const CopyOptions& options,
                    const NewDirectory& directory) {
  RETURN_IF_ERROR(CheckNanoGptComputes(source.shape()));
  RETURN_IF_ERROR(directory.Write(kArgumentsName, FormatArguments(source.shape())));
  return WriteSafetensors(source, source.shape(), {.prefix = "transformer."}, {}, options,
                          directory.File("model.safetensors"))
      .status();
}

}  // namespace gp::interop
