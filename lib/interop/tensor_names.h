// TensorNames: under which names, and in which orientation, a safetensors file holds the tensors of
// a GPT-2. Programs that wrap a model put a prefix before all names: torch.compile, DataParallel,
// FSDP, Lightning, peft. Values; any thread may use them.
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
  std::string prefix;       // of every name but lm_head.weight: "_orig_mod.transformer."
  std::string head_prefix;  // of lm_head.weight: "_orig_mod."
  // Hugging Face's Conv1D holds the matrices of the blocks as (in, out).
  bool transposed = false;

  std::string Of(const runspec::ParameterInfo& tensor) const;
  bool IsTransposed(const runspec::ParameterInfo& tensor) const;
  // As it lies in the file.
  std::vector<int64_t> ShapeOf(const runspec::ParameterInfo& tensor) const;
  // What stands before the names that the model itself gives: "_orig_mod."; usually "".
  std::string Wrappers() const;
};

// The prefixes in `tensors`: any stack of wrappers' and "transformer.", the same before all names,
// or before the head a shorter one. InvalidArgument names two tensors that begin differently, or
// that would have one name without their prefixes; FailedPrecondition when an adapter of peft is
// among them. Whether the tensors are there, and no others, is not checked.
StatusOr<TensorNames> FindTensorNames(const TensorSet& tensors, bool transposed);

}  // namespace gp::interop
