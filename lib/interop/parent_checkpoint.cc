#include "interop/parent_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "formats/checkpoint_directory.h"
#include "formats/versioned_arithmetic.h"

namespace gp::interop {
namespace {

std::string_view WhatItIs(ModelFormat format) {
  switch (format) {
    case ModelFormat::kHuggingFace:
      return "a Hugging Face directory";
    case ModelFormat::kLlmc:
      return "a model file of llm.c";
    case ModelFormat::kNanoGpt:
      return "a model of nanoGPT";
    case ModelFormat::kCheckpoint:
      break;
  }
  return "a checkpoint";
}

bool Lists(const formats::CheckpointManifest& manifest, std::string_view name) {
  return std::any_of(manifest.files.begin(), manifest.files.end(),
                     [&](const formats::CheckpointFile& file) { return file.name == name; });
}

}  // namespace

runspec::ParentState NoParentState(ModelFormat format) {
  return {.refusal = fmt::format("holds weights only: it is {}", WhatItIs(format))};
}

runspec::ParentState ParentStateOf(const std::string& directory,
                                   const formats::CheckpointManifest& manifest) {
  const formats::TrainingRecord& record = manifest.record;
  if (record.imported_from) {
    return {.refusal =
                fmt::format("holds weights only: it was imported from {}", *record.imported_from)};
  }
  const std::string mark = formats::QuarantineMark(directory);
  if (FileExists(mark)) {
    return {.refusal = fmt::format("is in quarantine: {} says why", mark)};
  }
  if (!Lists(manifest, formats::kOptimizerName)) {
    return {.refusal = fmt::format("holds weights only: its manifest lists no {}",
                                   formats::kOptimizerName)};
  }
  runspec::ParentState state{.step = manifest.step,
                             .tokens = manifest.tokens,
                             .shape = manifest.shape,
                             .seed = record.seed,
                             .order = record.order,
                             .sequence = record.sequence};
  if (record.optimizer) {
    state.optimizer = formats::ParseVersionedArithmetic(*record.optimizer).name;
  }
  // Older versions of gp recorded none of these.
  if (record.seed) state.trained = runspec::ParseTrained(record.trained.value_or(""));
  return state;
}

}  // namespace gp::interop
