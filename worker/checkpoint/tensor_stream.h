// TensorStream: reads one safetensors file piece by piece into flat buffers and computes its digest
// on the way. So a file is read once and is never in memory as a whole. One thread uses one object.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/checkpoint_manifest.h"
#include "formats/file_digest.h"
#include "formats/safetensors.h"

namespace gp::engine {

// Copies bytes into the state's memory, which the host may be unable to write directly. The caller
// may change `from` on return.
using WriteInto = std::function<void(void* to, const void* from, int64_t bytes)>;
// The WriteInto for host memory.
void WriteIntoHost(void* to, const void* from, int64_t bytes);

// Called when a tensor's values are complete. The file's digest is not checked yet.
using TensorComplete = std::function<void(const std::string& name)>;
inline void IgnoreComplete(const std::string&) {}

// Where a tensor's values belong and the shape it must have. Tensors are written one after another,
// so they may share memory when each is used once it is complete.
struct TensorTarget {
  std::vector<int64_t> shape;
  std::span<float> values;
};

class TensorStream {
 public:
  // `path` is for messages. The file must hold exactly the tensors of `targets`, as F32.
  TensorStream(std::string path, formats::CheckpointFile expected,
               std::map<std::string, TensorTarget> targets, WriteInto write,
               TensorComplete complete = IgnoreComplete);

  // Takes the next piece of the file.
  Status Consume(std::string_view piece);

  // Call after the last piece: checks size and digest against the manifest.
  Status Finish();

 private:
  Status ParseHeader();
  Status CheckTensors() const;
  void CopyData(std::string_view piece);

  const std::string path_;
  const formats::CheckpointFile expected_;
  const std::map<std::string, TensorTarget> targets_;
  const WriteInto write_;
  const TensorComplete complete_;
  formats::FileDigest digest_;
  uint64_t received_bytes_ = 0;
  std::string prefix_;  // until the header is complete
  bool header_complete_ = false;
  formats::SafetensorsHeader header_;
  uint64_t data_position_ = 0;  // where the next byte belongs in the data
  size_t tensor_index_ = 0;     // the tensor that this byte belongs to
};

}  // namespace gp::engine
