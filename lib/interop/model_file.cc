#include "interop/model_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

namespace gp::interop {
namespace {

constexpr size_t kAppendElements = size_t{1} << 20;
constexpr int64_t kTile = 64;  // a tile of the input and one of the output fit into the L1 cache

int64_t CountOf(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

std::vector<float> Transposed(std::span<const float> in, int64_t rows, int64_t columns) {
  std::vector<float> out(in.size());
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      for (int64_t r = r0; r < std::min(r0 + kTile, rows); ++r) {
        for (int64_t c = c0; c < std::min(c0 + kTile, columns); ++c) {
          out[static_cast<size_t>(c * rows + r)] = in[static_cast<size_t>(r * columns + c)];
        }
      }
    }
  }
  return out;
}

// The tensor's values, with as many rows as the file has, not yet transposed.
StatusOr<std::vector<float>> ReadRows(const ModelSource& source, const CopiedTensor& tensor,
                                      NotFinite not_finite) {
  std::vector<float> values;
  if (tensor.from != nullptr) {
    values.resize(static_cast<size_t>(tensor.from->count));
    RETURN_IF_ERROR(source.Read(*tensor.from, values, not_finite));
  }
  values.resize(static_cast<size_t>(tensor.count()));
  return values;
}

}  // namespace

StatusOr<ModelFile> ModelFile::Create(const std::string& path) {
  ModelFile file;
  file.path_ = path;
  file.file_.name = BaseNameOf(path);
  file.descriptor_ =
      FileDescriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.descriptor_.valid()) return ErrnoStatus(errno, "create", path);
  return file;
}

Status ModelFile::Append(std::string_view bytes) {
  digest_.Update(bytes);
  file_.size_bytes += bytes.size();
  return WriteAll(descriptor_.get(), bytes, path_);
}

Status ModelFile::Append(FloatType type, std::span<const float> values) {
  while (!values.empty()) {
    const auto piece = values.first(std::min(values.size(), kAppendElements));
    bytes_.clear();
    AppendAs(type, piece, bytes_);
    RETURN_IF_ERROR(Append(bytes_));
    values = values.subspan(piece.size());
  }
  return OkStatus();
}

StatusOr<formats::CheckpointFile> ModelFile::Close() {
  if (fsync(descriptor_.get()) != 0) return ErrnoStatus(errno, "sync", path_);
  descriptor_.Close();
  file_.digest = digest_.Finish();
  return file_;
}

int64_t CopiedTensor::count() const { return CountOf(shape); }

std::vector<int64_t> CopiedTensor::WrittenShape() const {
  std::vector<int64_t> written = shape;
  if (transposed) std::reverse(written.begin(), written.end());
  return written;
}

std::vector<CopiedTensor> TensorsFor(const runspec::ParameterLayout& written,
                                     const runspec::ParameterLayout& source, FloatType type) {
  std::map<std::string_view, const runspec::ParameterInfo*> by_name;
  for (const runspec::ParameterInfo& tensor : source.tensors) by_name[tensor.name] = &tensor;
  std::vector<CopiedTensor> tensors;
  for (const runspec::ParameterInfo& tensor : written.tensors) {
    const auto found = by_name.find(tensor.name);
    tensors.push_back({.name = tensor.name,
                       .from = found == by_name.end() ? nullptr : found->second,
                       .shape = tensor.shape,
                       .type = type});
  }
  return tensors;
}

Status CopyTensors(const ModelSource& source, const std::vector<CopiedTensor>& tensors,
                   const CopyOptions& options, ModelFile& file) {
  for (const CopiedTensor& tensor : tensors) {
    RETURN_IF_ERROR(options.keep_going());
    ASSIGN_OR_RETURN(std::vector<float> values, ReadRows(source, tensor, options.not_finite));
    if (tensor.transposed) values = Transposed(values, tensor.shape[0], tensor.shape[1]);
    RETURN_IF_ERROR(file.Append(tensor.type, values));
  }
  return OkStatus();
}

}  // namespace gp::interop
