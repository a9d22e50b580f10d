#include "interop/safetensors_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "base/text/excerpt.h"
#include "interop/float_type.h"

namespace gp::interop {
namespace {

using runspec::ParameterInfo;

constexpr char kEmbeddingName[] = "wte.weight";
// Elements of a transposed matrix held in memory besides the result.
constexpr int64_t kTransposePiece = int64_t{1} << 20;
constexpr int64_t kComparePiece = int64_t{1} << 20;

// Causal masks that some versions of transformers and nanoGPT store.
bool IsMask(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

// Whether `other` contains the parts of `name`: "h.1.ln_1.weight" is in "encoder.h.1.ln_1.weight"
// and in "h.1._orig_mod.ln_1.weight".
bool NamesTheSame(const std::string& other, const std::string& name) {
  if (!name.starts_with("h.")) return other.ends_with("." + name);
  const size_t block_end = name.find('.', 2) + 1;
  return ("." + other).find("." + name.substr(0, block_end)) != std::string::npos &&
         other.ends_with("." + name.substr(block_end));
}

// A hint for a missing tensor, if the file has a name that contains its name.
std::string SimilarName(const TensorSet& tensors, const std::string& name) {
  for (const std::string& other : tensors.Names()) {
    if (!NamesTheSame(other, name)) continue;
    return fmt::format("; the file has '{}': write it again without the prefix", Excerpt(other));
  }
  return "";
}

// out[c * rows + first_row + r] = in[r * columns + c]
void Scatter(std::span<const float> in, int64_t columns, int64_t first_row, int64_t rows,
             std::span<float> out) {
  const int64_t count = static_cast<int64_t>(in.size()) / columns;
  for (int64_t c = 0; c < columns; ++c) {
    float* to = out.data() + c * rows + first_row;
    for (int64_t r = 0; r < count; ++r) to[r] = in[static_cast<size_t>(r * columns + c)];
  }
}

}  // namespace

StatusOr<std::unique_ptr<ModelSource>> SafetensorsModel::Open(
    std::string path, const runspec::ModelShape& shape, TensorNames names, TensorSet tensors,
    std::shared_ptr<const Tokenizer> tokenizer) {
  std::unique_ptr<SafetensorsModel> model(new SafetensorsModel(
      std::move(path), shape, std::move(names), std::move(tensors), std::move(tokenizer)));
  RETURN_IF_ERROR(model->CheckTensors());
  RETURN_IF_ERROR(model->CheckNothingElse());
  if (shape.tied_head) RETURN_IF_ERROR(model->CheckTiedHead());
  return model;
}

Status SafetensorsModel::CheckTensors() const {
  for (const ParameterInfo& tensor : runspec::MakeParameterLayout(shape()).tensors) {
    RETURN_IF_ERROR(CheckTensor(tensor));
  }
  return OkStatus();
}

Status SafetensorsModel::CheckTensor(const ParameterInfo& tensor) const {
  const std::string name = names_.Of(tensor);
  const formats::TensorEntry* entry = tensors_.Find(name);
  if (entry == nullptr) {
    return InvalidArgument("{}: tensor '{}' is missing{}", tensors_.path(), name,
                           SimilarName(tensors_, tensor.name));
  }
  const std::vector<int64_t> expected = names_.ShapeOf(tensor);
  if (entry->shape != expected) {
    return InvalidArgument("{}: tensor '{}' is [{}], expected [{}]", tensors_.FileOf(name), name,
                           fmt::join(entry->shape, ", "), fmt::join(expected, ", "));
  }
  if (FloatTypeOf(entry->dtype)) return OkStatus();
  return InvalidArgument("{}: tensor '{}' is {}, expected F32, F16 or BF16", tensors_.FileOf(name),
                         name, Excerpt(entry->dtype));
}

Status SafetensorsModel::CheckNothingElse() const {
  std::set<std::string> known = {names_.head_prefix + kHeadName};
  for (const ParameterInfo& tensor : runspec::MakeParameterLayout(shape()).tensors) {
    known.insert(names_.Of(tensor));
  }
  for (const std::string& name : tensors_.Names()) {
    if (known.contains(name) || IsMask(name)) continue;
    return InvalidArgument("{}: tensor '{}' belongs to no part of a GPT-2 of {} blocks{}",
                           tensors_.FileOf(name), Excerpt(name), shape().layers,
                           shape().bias ? "" : " without biases");
  }
  return OkStatus();
}

Status SafetensorsModel::CheckTiedHead() const {
  const std::string head_name = names_.head_prefix + kHeadName;
  const formats::TensorEntry* head = tensors_.Find(head_name);
  if (head == nullptr) return OkStatus();
  const std::string embedding = names_.prefix + kEmbeddingName;
  const auto differs = [&] {
    return InvalidArgument(
        "{}: '{}' differs from '{}', but the model ties them: set tie_word_embeddings to false in "
        "its configuration, or leave the head out",
        tensors_.FileOf(head_name), head_name, embedding);
  };
  const formats::TensorEntry* tied = tensors_.Find(embedding);
  if (head->shape != tied->shape || head->dtype != tied->dtype) return differs();
  const int64_t count = head->shape[0] * head->shape[1];
  std::vector<float> one, other;
  for (int64_t first = 0; first < count; first += kComparePiece) {
    one.resize(static_cast<size_t>(std::min(kComparePiece, count - first)));
    other.resize(one.size());
    RETURN_IF_ERROR(tensors_.Read(head_name, first, one));
    RETURN_IF_ERROR(tensors_.Read(embedding, first, other));
    if (std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) != 0) return differs();
  }
  return OkStatus();
}

Status SafetensorsModel::ReadValues(const ParameterInfo& tensor, std::span<float> values) const {
  const std::string name = names_.Of(tensor);
  if (names_.IsTransposed(tensor)) return ReadTransposed(name, tensor, values);
  return tensors_.Read(name, 0, values);
}

// The file holds the matrix as (in, out). Reads some rows at a time, which become columns of the
// result.
Status SafetensorsModel::ReadTransposed(const std::string& name, const ParameterInfo& tensor,
                                        std::span<float> values) const {
  const int64_t out = tensor.shape[0], in = tensor.shape[1];
  const int64_t rows_at_once = std::max<int64_t>(kTransposePiece / out, 1);
  std::vector<float> rows;
  for (int64_t first = 0; first < in; first += rows_at_once) {
    rows.resize(static_cast<size_t>(std::min(rows_at_once, in - first) * out));
    RETURN_IF_ERROR(tensors_.Read(name, first * out, rows));
    Scatter(rows, out, first, in, values);
  }
  return OkStatus();
}

std::string SafetensorsModel::Describe(const ParameterInfo& tensor) const {
  const std::string name = names_.Of(tensor);
  return fmt::format("{}: tensor '{}'", tensors_.FileOf(name), name);
}

}  // namespace gp::interop
