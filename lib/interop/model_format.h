// The formats of imported and exported models, detected from the files: what `gpctl import`, `gpctl
// export` and a run's init_from accept. Any thread may call.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "interop/checkpoint_model.h"
#include "interop/model_file.h"
#include "interop/model_source.h"
#include "runspec/initial_model.h"

namespace gp::interop {

enum class ModelFormat { kCheckpoint, kHuggingFace, kLlmc, kNanoGpt };

// "gp", "hf", "llmc", "nanogpt".
std::string_view ModelFormatName(ModelFormat format);
std::optional<ModelFormat> ModelFormatOf(std::string_view name);

// The format of `path`: a directory with a manifest.json, a model_args.json or a config.json, or a
// file of llm.c, or a directory whose model.bin is one; the first that is found. For another known
// form the error of RefuseUnread (interop/unread_model.h); otherwise NotFound lists what was looked
// for.
StatusOr<ModelFormat> DetectModelFormat(const std::string& path);

StatusOr<std::unique_ptr<ModelSource>> OpenModel(const std::string& path, ModelFormat format);

// OpenModelAt: the model at `path`, whatever its format. FindModelAt: only its shape and tokenizer.
StatusOr<std::unique_ptr<ModelSource>> OpenModelAt(const std::string& path);
StatusOr<runspec::InitialModel> FindModelAt(const std::string& path);

enum class ExportFormat { kHuggingFace, kLlmc, kNanoGpt, kGguf };

// "hf", "llmc", "nanogpt", "gguf".
std::optional<ExportFormat> ExportFormatOf(std::string_view name);

// Writes the checkpoint's model as `directory`, which appears complete or not at all: the files of
// the format, and a model card. AlreadyExists when the directory exists and is not empty;
// FailedPrecondition when the format cannot hold such a model.
Status ExportModel(const CheckpointModel& checkpoint, ExportFormat format,
                   const CopyOptions& options, const std::string& directory);

}  // namespace gp::interop
