// ModelSource: a model in a file, whatever its format. It gives the shape, and the weights one
// tensor at a time, under gp's names and in gp's form: fp32, (out, in). Opening checks everything
// but the values (Read checks those). Any thread may read.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "plan/model_shape.h"
#include "tokenizer/tokenizer.h"

namespace gp::interop {

// How a reader treats NaN and infinite weights.
enum class NotFinite { kRefuse, kTake };

class ModelSource {
 public:
  virtual ~ModelSource() = default;

  const runspec::ModelShape& shape() const { return shape_; }
  // The file or directory that was opened, for messages and records.
  const std::string& path() const { return path_; }
  // Null when the source has none.
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  // The prefix that wrappers of a model add to tensor names: "_orig_mod.". It is left out here;
  // usually "".
  virtual std::string wrappers() const { return ""; }

  // All values of `tensor`, one of MakeParameterLayout(shape()). DataLoss names file and tensor
  // when the data cannot be read, and with kRefuse the first value that is not finite. REQUIRES:
  // values.size() == tensor.count.
  Status Read(const runspec::ParameterInfo& tensor, std::span<float> values,
              NotFinite not_finite = NotFinite::kRefuse) const;

 protected:
  ModelSource(std::string path, const runspec::ModelShape& shape,
              std::shared_ptr<const Tokenizer> tokenizer)
      : path_(std::move(path)), shape_(shape), tokenizer_(std::move(tokenizer)) {}

 private:
  virtual Status ReadValues(const runspec::ParameterInfo& tensor,
                            std::span<float> values) const = 0;
  // "FILE: tensor 'NAME'", as the source calls it.
  virtual std::string Describe(const runspec::ParameterInfo& tensor) const = 0;

  const std::string path_;
  const runspec::ModelShape shape_;
  const std::shared_ptr<const Tokenizer> tokenizer_;
};

// The special tokens of the source's tokenizer; empty when it has none.
SpecialTokens SpecialTokensOf(const ModelSource& source);

}  // namespace gp::interop
