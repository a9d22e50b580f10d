// The model card of an export: README.md with the front matter that Hugging Face's hub reads. Pure;
// thread-safe.
#pragma once

#include <string>

#include "interop/model_format.h"

namespace gp::interop {

std::string ModelCard(const CheckpointModel& checkpoint, ExportFormat format, FloatType type);

}  // namespace gp::interop
