// TensorNames: the names and the orientation of a GPT-2's tensors in a safetensors file. Programs
// that wrap a model put a prefix before all names: torch.compile, DataParallel, FSDP, Lightning,
// peft. Values; any thread may use them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "interop/tensor_set.h"
#include "plan/model_shape.h"

namespace gp::interop {

inline constexpr char kHeadName[] = "lm_head.weight";

struct TensorNames {
  std::string prefix;       // of every name except lm_head.weight: "_orig_mod.transformer."
  std::string head_prefix;  // of lm_head.weight: "_orig_mod."
  // Hugging Face's Conv1D holds the matrices of the blocks as (in, out).
  bool transposed = false;

  std::string Of(const runspec::ParameterInfo& tensor) const;
  bool IsTransposed(const runspec::ParameterInfo& tensor) const;
  // The shape in the file.
  std::vector<int64_t> ShapeOf(const runspec::ParameterInfo& tensor) const;
  // The prefix added by wrappers of the model: "_orig_mod."; usually "".
  std::string Wrappers() const;
};

// The prefixes in `tensors`: any stack of wrappers' and "transformer.", the same for all names, or
// a shorter one for the head. InvalidArgument names two tensors with different prefixes, or with
// the same name after removing them; FailedPrecondition when a peft adapter is among them. Does not
// check that the set of tensors is complete.
StatusOr<TensorNames> FindTensorNames(const TensorSet& tensors, bool transposed);

}  // namespace gp::interop
