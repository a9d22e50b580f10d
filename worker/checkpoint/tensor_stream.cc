#include "worker/checkpoint/tensor_stream.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "worker/checkpoint/damage.h"

namespace gp::engine {

void WriteIntoHost(void* to, const void* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

TensorStream::TensorStream(std::string path, formats::CheckpointFile expected,
                           std::map<std::string, TensorTarget> targets, WriteInto write,
                           TensorComplete complete)
    : path_(std::move(path)),
      expected_(std::move(expected)),
      targets_(std::move(targets)),
      write_(std::move(write)),
      complete_(std::move(complete)),
      digest_(expected_.digest_kind) {}

Status TensorStream::Consume(std::string_view piece) {
  received_bytes_ += piece.size();
  if (received_bytes_ > expected_.size_bytes) {
    return DamagedCheckpoint(
        fmt::format("{} has more than the {} bytes of its manifest", path_, expected_.size_bytes));
  }
  digest_.Update(piece);
  if (header_complete_) {
    CopyData(piece);
    return OkStatus();
  }
  prefix_.append(piece);
  return ParseHeader();
}

Status TensorStream::ParseHeader() {
  if (prefix_.size() < 8) return OkStatus();
  ASSIGN_OR_RETURN(const uint64_t needed,
                   formats::SafetensorsPrefixBytes(prefix_, expected_.size_bytes, path_));
  if (prefix_.size() < needed) return OkStatus();
  ASSIGN_OR_RETURN(header_, formats::ParseSafetensorsHeader(prefix_, expected_.size_bytes, path_));
  RETURN_IF_ERROR(CheckTensors());
  header_complete_ = true;
  CopyData(std::string_view(prefix_).substr(needed));
  prefix_.clear();
  return OkStatus();
}

Status TensorStream::CheckTensors() const {
  for (const auto& [name, target] : targets_) {
    const formats::TensorEntry* tensor = header_.Find(name);
    if (tensor == nullptr) return DataLoss("{}: tensor '{}' is missing", path_, name);
    if (tensor->dtype != "F32" || tensor->shape != target.shape) {
      return DataLoss("{}: tensor '{}' is {} [{}], expected F32 [{}]", path_, name, tensor->dtype,
                      fmt::join(tensor->shape, ", "), fmt::join(target.shape, ", "));
    }
  }
  for (const formats::TensorEntry& tensor : header_.tensors) {
    if (!targets_.contains(tensor.name)) {
      return DataLoss("{}: tensor '{}' belongs to no part of the model", path_, tensor.name);
    }
  }
  return OkStatus();
}

void TensorStream::CopyData(std::string_view piece) {
  while (!piece.empty() && tensor_index_ < header_.tensors.size()) {
    const formats::TensorEntry& tensor = header_.tensors[tensor_index_];
    const size_t count = std::min<size_t>(piece.size(), tensor.end - data_position_);
    auto* values = reinterpret_cast<char*>(targets_.at(tensor.name).values.data());
    write_(values + (data_position_ - tensor.begin), piece.data(), static_cast<int64_t>(count));
    piece.remove_prefix(count);
    data_position_ += count;
    if (data_position_ < tensor.end) continue;
    complete_(tensor.name);
    ++tensor_index_;
  }
}

Status TensorStream::Finish() {
  if (received_bytes_ != expected_.size_bytes) {
    return DamagedCheckpoint(fmt::format("{} has {} bytes, its manifest says {}", path_,
                                         received_bytes_, expected_.size_bytes));
  }
  const std::string digest = digest_.Finish();
  if (digest != expected_.digest) {
    return DamagedCheckpoint(fmt::format("{} has the {} {}, its manifest says {}", path_,
                                         formats::DigestName(expected_.digest_kind), digest,
                                         expected_.digest));
  }
  if (header_complete_) return OkStatus();
  return DataLoss("{} is not a safetensors file: it ends inside its header", path_);
}

}  // namespace gp::engine
