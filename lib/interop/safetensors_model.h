// SafetensorsModel: a GPT-2 model in safetensors, under gp's names, Hugging Face's or nanoGPT's.
// They differ in their names' prefixes, in the orientation of matrices, and in buffers that are not
// weights.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "interop/model_source.h"
#include "interop/tensor_names.h"
#include "interop/tensor_set.h"

namespace gp::interop {

class SafetensorsModel final : public ModelSource {
 public:
  // InvalidArgument names file and tensor unless every tensor of `shape` exists, with its shape and
  // as F32, F16 or BF16, and no others except the buffers attn.bias and attn.masked_bias. With a
  // tied head, an existing lm_head.weight must equal the embedding, whose values are compared here.
  static StatusOr<std::unique_ptr<ModelSource>> Open(std::string path,
                                                     const runspec::ModelShape& shape,
                                                     TensorNames names, TensorSet tensors,
                                                     std::shared_ptr<const Tokenizer> tokenizer);

  std::string wrappers() const override { return names_.Wrappers(); }

 private:
  SafetensorsModel(std::string path, const runspec::ModelShape& shape, TensorNames names,
                   TensorSet tensors, std::shared_ptr<const Tokenizer> tokenizer)
      : ModelSource(std::move(path), shape, std::move(tokenizer)),
        names_(std::move(names)),
        tensors_(std::move(tensors)) {}

  Status ReadValues(const runspec::ParameterInfo& tensor, std::span<float> values) const override;
  std::string Describe(const runspec::ParameterInfo& tensor) const override;

  Status ReadTransposed(const std::string& name, const runspec::ParameterInfo& tensor,
                        std::span<float> values) const;
  Status CheckTensors() const;
  Status CheckTensor(const runspec::ParameterInfo& tensor) const;
  Status CheckNothingElse() const;
  Status CheckTiedHead() const;

  const TensorNames names_;
  const TensorSet tensors_;
};

}  // namespace gp::interop
