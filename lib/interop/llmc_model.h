// llm.c's model file (docs/formats/llmc-model.md): reads and writes version 3 (fp32) and version 5
// (bf16). Any thread may call.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "interop/model_file.h"
#include "interop/model_source.h"

namespace gp::interop {

// True when a file that begins with these bytes is a model of llm.c, of any version.
bool IsLlmc(std::string_view first_bytes);

// InvalidArgument names the offset of the header's field, or the size that the file should have.
StatusOr<std::unique_ptr<ModelSource>> OpenLlmc(const std::string& path);

// FailedPrecondition for a model that llm.c cannot compute: its models have a tied head and tanh
// gelu. Pads the vocabulary to a multiple of 128 with rows of zeros, and writes missing biases as
// zeros.
Status WriteLlmc(const ModelSource& source, const CopyOptions& options, const std::string& path);

}  // namespace gp::interop
