#include "interop/llmc_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "formats/file_kind.h"
#include "formats/random_access_file.h"
#include "plan/align_up.h"
#include "plan/model_shape_limits.h"

namespace gp::interop {
namespace {

using runspec::ModelShape;
using runspec::ParameterInfo;

constexpr int32_t kLlmcMagic = 20240326;
constexpr int32_t kVersionF32 = 3;
constexpr int32_t kVersionBf16 = 5;
constexpr size_t kHeaderInts = 256;
constexpr uint64_t kHeaderBytes = kHeaderInts * sizeof(int32_t);
constexpr int64_t kVocabularyMultiple = 128;

using LlmcHeader = std::array<int32_t, kHeaderInts>;

// In the order of the file. For each name, the file holds the tensors of all blocks, one after the
// other.
constexpr const char* kBlockTensors[] = {
    "ln_1.weight",        "ln_1.bias",        "attn.c_attn.weight", "attn.c_attn.bias",
    "attn.c_proj.weight", "attn.c_proj.bias", "ln_2.weight",        "ln_2.bias",
    "mlp.c_fc.weight",    "mlp.c_fc.bias",    "mlp.c_proj.weight",  "mlp.c_proj.bias"};

std::vector<std::string> NamesInOrder(int64_t layers) {
  std::vector<std::string> names = {"wte.weight", "wpe.weight"};
  for (const char* tensor : kBlockTensors) {
    for (int64_t layer = 0; layer < layers; ++layer) {
      names.push_back(fmt::format("h.{}.{}", layer, tensor));
    }
  }
  names.insert(names.end(), {"ln_f.weight", "ln_f.bias"});
  return names;
}

StatusOr<FloatType> TypeOfVersion(int32_t version, const std::string& path) {
  if (version == kVersionF32) return FloatType::kF32;
  if (version == kVersionBf16) return FloatType::kBf16;
  return InvalidArgument("{}: byte 4: version {}, expected {} (fp32) or {} (bf16)", path, version,
                         kVersionF32, kVersionBf16);
}

// llm.c's GPT-2: with biases, a tied head and the tanh approximation.
ModelShape ShapeOf(const LlmcHeader& header) {
  ModelShape shape;
  shape.context = header[2];
  shape.vocabulary = header[3];
  shape.layers = header[4];
  shape.heads = header[5];
  shape.channels = header[6];
  shape.vocabulary_padded = header[7];
  return shape;
}

StatusOr<LlmcHeader> ReadHeader(const formats::RandomAccessFile& file) {
  RETURN_IF_ERROR(formats::RefuseOtherKinds(file, "a model of llm.c"));
  if (file.size_bytes() < kHeaderBytes) {
    return InvalidArgument("{}: {} bytes are too few for the header of {}", file.path(),
                           file.size_bytes(), kHeaderBytes);
  }
  std::array<char, kHeaderBytes> bytes;
  RETURN_IF_ERROR(file.Read(0, bytes));
  LlmcHeader header;
  std::memcpy(header.data(), bytes.data(), bytes.size());
  if (header[0] == kLlmcMagic) return header;
  return InvalidArgument("{}: byte 0: {} is not the number {} that llm.c's models begin with",
                         file.path(), header[0], kLlmcMagic);
}

class LlmcModel final : public ModelSource {
 public:
  LlmcModel(formats::RandomAccessFile file, const ModelShape& shape, FloatType type)
      : ModelSource(file.path(), shape, nullptr), file_(std::move(file)), type_(type) {
    std::map<std::string, int64_t> counts;
    for (const ParameterInfo& tensor : runspec::MakeParameterLayout(shape).tensors) {
      counts[tensor.name] = tensor.count;
    }
    end_ = kHeaderBytes;
    for (const std::string& name : NamesInOrder(shape.layers)) {
      offsets_[name] = end_;
      end_ += static_cast<uint64_t>(counts.at(name) * FloatBytes(type));
    }
  }

  Status CheckSize() const {
    if (file_.size_bytes() == end_) return OkStatus();
    return InvalidArgument("{} has {} bytes, but its header requires {}", path(),
                           file_.size_bytes(), end_);
  }

 private:
  static constexpr int64_t kPiece = int64_t{1} << 18;  // elements

  Status ReadValues(const ParameterInfo& tensor, std::span<float> values) const override {
    uint64_t offset = offsets_.at(tensor.name);
    std::vector<char> bytes;
    while (!values.empty()) {
      const auto piece = values.first(std::min<size_t>(values.size(), kPiece));
      bytes.resize(piece.size() * static_cast<size_t>(FloatBytes(type_)));
      RETURN_IF_ERROR(file_.Read(offset, bytes));
      Widen(type_, {bytes.data(), bytes.size()}, piece);
      offset += bytes.size();
      values = values.subspan(piece.size());
    }
    return OkStatus();
  }

  std::string Describe(const ParameterInfo& tensor) const override {
    return fmt::format("{}: {}, at byte {},", path(), tensor.name, offsets_.at(tensor.name));
  }

  const formats::RandomAccessFile file_;
  const FloatType type_;
  std::map<std::string, uint64_t> offsets_;
  uint64_t end_ = 0;
};

Status CheckLlmcComputes(const ModelShape& shape) {
  if (!shape.tied_head) {
    return FailedPrecondition("llm.c ties the head to the token embedding; this model does not");
  }
  if (shape.gelu == runspec::Gelu::kTanh) return OkStatus();
  return FailedPrecondition(
      "llm.c computes gelu by its tanh approximation; this model was trained with the exact one "
      "(model.gelu: erf)");
}

LlmcHeader HeaderOf(const ModelShape& shape, FloatType type) {
  const auto number = [](int64_t value) { return static_cast<int32_t>(value); };
  LlmcHeader header{};
  header[0] = kLlmcMagic;
  header[1] = type == FloatType::kF32 ? kVersionF32 : kVersionBf16;
  header[2] = number(shape.context);
  header[3] = number(shape.vocabulary);
  header[4] = number(shape.layers);
  header[5] = number(shape.heads);
  header[6] = number(shape.channels);
  header[7] = number(shape.vocabulary_padded);
  return header;
}

}  // namespace

bool IsLlmc(std::string_view first_bytes) {
  int32_t magic = 0;
  if (first_bytes.size() < sizeof magic) return false;
  std::memcpy(&magic, first_bytes.data(), sizeof magic);
  return magic == kLlmcMagic;
}

StatusOr<std::unique_ptr<ModelSource>> OpenLlmc(const std::string& path) {
  ASSIGN_OR_RETURN(formats::RandomAccessFile file, formats::RandomAccessFile::Open(path));
  ASSIGN_OR_RETURN(const LlmcHeader header, ReadHeader(file));
  ASSIGN_OR_RETURN(const FloatType type, TypeOfVersion(header[1], path));
  const ModelShape shape = ShapeOf(header);
  const std::string problem = runspec::ProblemWithSizes(shape);
  if (!problem.empty()) return InvalidArgument("{}: bytes 8 to 32: {}", path, problem);
  auto model = std::make_unique<LlmcModel>(std::move(file), shape, type);
  RETURN_IF_ERROR(model->CheckSize());
  return model;
}

Status WriteLlmc(const ModelSource& source, const CopyOptions& options, const std::string& path) {
  ModelShape shape = source.shape();
  RETURN_IF_ERROR(CheckLlmcComputes(shape));
  shape.bias = true;
  shape.vocabulary_padded = runspec::AlignUp(shape.vocabulary_padded, kVocabularyMultiple);
  const auto layout = runspec::MakeParameterLayout(source.shape());
  std::map<std::string, CopiedTensor> by_name;
  for (CopiedTensor& tensor :
       TensorsFor(runspec::MakeParameterLayout(shape), layout, options.type)) {
    by_name[tensor.name] = std::move(tensor);
  }
  std::vector<CopiedTensor> tensors;
  for (const std::string& name : NamesInOrder(shape.layers)) tensors.push_back(by_name.at(name));
  const LlmcHeader header = HeaderOf(shape, options.type);
  ASSIGN_OR_RETURN(ModelFile file, ModelFile::Create(path));
  RETURN_IF_ERROR(file.Append({reinterpret_cast<const char*>(header.data()), kHeaderBytes}));
  RETURN_IF_ERROR(CopyTensors(source, tensors, options, file));
  return file.Close().status();
}

}  // namespace gp::interop
