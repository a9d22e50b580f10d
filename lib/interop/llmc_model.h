// llm.c's model file (docs/formats/llmc-model.md): version 3 in fp32, version 5 in bf16, both ways.
// Functions of one thread each.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "interop/model_file.h"
#include "interop/model_source.h"

namespace gp::interop {

// True when the bytes that a file begins with are a model's of llm.c, of any version.
bool IsLlmc(std::string_view first_bytes);

// InvalidArgument names the offset of the header's field, or the size that the file should have.
StatusOr<std::unique_ptr<ModelSource>> OpenLlmc(const std::string& path);

// FailedPrecondition when llm.c does not compute such a model: its head is tied, its gelu tanh.
// Pads the vocabulary to a multiple of 128 with rows of zeros, and writes missing biases as zeros.
Status WriteLlmc(const ModelSource& source, const CopyOptions& options, const std::string& path);

}  // namespace gp::interop
