#include "interop/hugging_face_directory.h"

#include <utility>

#include "base/file.h"
#include "interop/hugging_face_config.h"
#include "interop/model_tokenizer.h"
#include "interop/safetensors_model.h"
#include "interop/safetensors_writer.h"
#include "interop/unread_model.h"
#include "tokenizer/files/hugging_face_tokenizer.h"

namespace gp::interop {
namespace {

constexpr char kConfigName[] = "config.json";
constexpr char kPrefix[] = "transformer.";
constexpr uint64_t kConfigBytesMax = 1 << 20;

// The shape in the file: without the rows that pad the vocabulary, and with biases, which
// transformers' model always has.
runspec::ModelShape WrittenShape(runspec::ModelShape shape) {
  shape.vocabulary_padded = shape.vocabulary;
  shape.bias = true;
  return shape;
}

Status WriteTokenizer(const ModelSource& source, const NewDirectory& directory) {
  if (source.tokenizer() == nullptr) return OkStatus();
  for (const auto& [name, text] : HuggingFaceTokenizerFiles(*source.tokenizer())) {
    RETURN_IF_ERROR(directory.Write(name, text));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<ModelSource>> OpenHuggingFace(const std::string& directory) {
  const std::string config = JoinPath(directory, kConfigName);
  RETURN_IF_ERROR(FileExists(config) ? RefuseAdapter(directory) : RefuseUnread(directory));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(config, kConfigBytesMax));
  ASSIGN_OR_RETURN(const runspec::ModelShape shape, ParseHuggingFaceConfig(text, config));
  ASSIGN_OR_RETURN(TensorSet tensors, TensorSet::OpenDirectory(directory));
  ASSIGN_OR_RETURN(TensorNames names, FindTensorNames(tensors, /*transposed=*/true));
  ASSIGN_OR_RETURN(auto tokenizer, TokenizerIn(directory));
  return SafetensorsModel::Open(directory, shape, std::move(names), std::move(tensors),
                                std::move(tokenizer));
}

Status WriteHuggingFace(const ModelSource& source, const CopyOptions& options,
                        const NewDirectory& directory) {
  const runspec::ModelShape shape = WrittenShape(source.shape());
  const SpecialTokens special = SpecialTokensOf(source);
  RETURN_IF_ERROR(
      directory.Write(kConfigName, FormatHuggingFaceConfig(shape, options.type, special)));
  RETURN_IF_ERROR(WriteTokenizer(source, directory));
  RETURN_IF_ERROR(directory.Write("generation_config.json", FormatGenerationConfig(special)));
  return WriteSafetensors(source, shape, {.prefix = kPrefix, .transposed = true}, {}, options,
                          directory.File("model.safetensors"))
      .status();
}

}  // namespace gp::interop
