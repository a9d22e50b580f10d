// ModelFile: writes a file of weights and computes its digest on the way. CopyTensors writes a
// model's tensors into one, with one tensor in memory at a time. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "formats/checkpoint_manifest.h"
#include "formats/file_digest.h"
#include "interop/float_type.h"
#include "interop/model_source.h"

namespace gp::interop {

class ModelFile {
 public:
  // `path` must not exist yet.
  static StatusOr<ModelFile> Create(const std::string& path);

  Status Append(std::string_view bytes);
  // Appends the values, rounded to `type`.
  Status Append(FloatType type, std::span<const float> values);

  // Syncs and closes the file. Returns its name, size and sha256.
  StatusOr<formats::CheckpointFile> Close();

 private:
  ModelFile() : digest_(formats::DigestKind::kSha256) {}

  std::string path_;
  FileDescriptor descriptor_;
  formats::FileDigest digest_;
  formats::CheckpointFile file_;
  std::string bytes_;  // the bytes of one Append
};

// Called before each tensor; an error ends the copy and becomes its result.
using KeepGoing = std::function<Status()>;

struct CopyOptions {
  FloatType type = FloatType::kF32;
  NotFinite not_finite = NotFinite::kRefuse;
  KeepGoing keep_going = [] { return OkStatus(); };
};

// One tensor of a file: made from a tensor of the source or some of its rows, perhaps transposed.
struct CopiedTensor {
  std::string name;  // in the file
  // The tensor of the source; nullptr if the tensor is to be all zeros.
  const runspec::ParameterInfo* from = nullptr;
  std::vector<int64_t> shape;  // (rows, columns) before transposing; fewer or more rows than `from`
  bool transposed = false;
  FloatType type = FloatType::kF32;

  int64_t count() const;
  // The shape in the file.
  std::vector<int64_t> WrittenShape() const;
};

// The tensors of the layout `written`, in its names and order, from those of the layout `source`,
// which must outlive them. Biases missing in the source are zeros.
std::vector<CopiedTensor> TensorsFor(const runspec::ParameterLayout& written,
                                     const runspec::ParameterLayout& source, FloatType type);

// Appends the tensors in order. Rows that the source lacks are zeros.
Status CopyTensors(const ModelSource& source, const std::vector<CopiedTensor>& tensors,
                   const CopyOptions& options, ModelFile& file);

}  // namespace gp::interop
