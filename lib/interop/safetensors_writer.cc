#include "interop/safetensors_writer.h"

#include <vector>

#include "formats/safetensors.h"

namespace gp::interop {

StatusOr<formats::CheckpointFile> WriteSafetensors(
    const ModelSource& source, const runspec::ModelShape& shape, const TensorNames& names,
    const std::map<std::string, std::string>& metadata, const CopyOptions& options,
    const std::string& path) {
  const auto layout = runspec::MakeParameterLayout(source.shape());
  const auto written = runspec::MakeParameterLayout(shape);
  std::vector<CopiedTensor> tensors = TensorsFor(written, layout, options.type);
  std::vector<formats::TensorEntry> entries;
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].name = names.Of(written.tensors[i]);
    tensors[i].transposed = names.IsTransposed(written.tensors[i]);
    entries.push_back({.name = tensors[i].name,
                       .dtype = std::string(FloatTypeName(tensors[i].type)),
                       .shape = tensors[i].WrittenShape()});
  }
  ASSIGN_OR_RETURN(ModelFile file, ModelFile::Create(path));
  RETURN_IF_ERROR(file.Append(formats::FormatSafetensorsHeader(entries, metadata)));
  RETURN_IF_ERROR(CopyTensors(source, tensors, options, file));
  return file.Close();
}

}  // namespace gp::interop
