// Readers of models. The input's first byte selects a file of a model directory; the rest is that
// file's content. The other files belong to a valid model with one block and one channel. A model
// that opens is read completely.
#include <fcntl.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "formats/safetensors.h"
#include "interop/model_format.h"
#include "interop/safetensors_model.h"

namespace {

using namespace gp;

constexpr char kConfig[] =
    R"({"model_type":"gpt2","n_layer":1,"n_head":1,"n_embd":1,"n_positions":1,"vocab_size":2})";
constexpr char kArguments[] =
    R"({"n_layer":1,"n_head":1,"n_embd":1,"block_size":1,"bias":true,"vocab_size":2})";
constexpr char kIndex[] = "model.safetensors.index.json";

const runspec::ModelShape kShape{
    .layers = 1, .heads = 1, .channels = 1, .context = 1, .vocabulary = 2, .vocabulary_padded = 2};

std::string GoodWeights(const interop::TensorNames& names) {
  std::vector<formats::TensorEntry> entries;
  size_t bytes = 0;
  for (const auto& tensor : runspec::MakeParameterLayout(kShape).tensors) {
    entries.push_back({.name = names.Of(tensor), .dtype = "F32", .shape = names.ShapeOf(tensor)});
    bytes += static_cast<size_t>(tensor.count) * sizeof(float);
  }
  return formats::FormatSafetensorsHeader(entries, {}) + std::string(bytes, '\0');
}

// A model directory in memory; the destructor removes it.
class ModelDirectory {
 public:
  ModelDirectory() {
    char name[] = "/dev/shm/gp-model-fuzz-XXXXXX";
    GP_CHECK(mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~ModelDirectory() { (void)RemoveTree(path_); }

  const std::string& path() const { return path_; }

  void Write(const std::string& name, std::string_view bytes) const {
    const std::string path = JoinPath(path_, name);
    FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    GP_CHECK(file.valid() && WriteAll(file.get(), bytes, path).ok());
  }

 private:
  std::string path_;
};

struct Case {
  const char* changed;  // name of the file whose content is the input
  const char* config;   // name of the valid model description; nullptr: none
  const char* config_text;
  const char* prefix;   // prefix of the tensor names in the valid weights
  const char* weights;  // name of the valid weights; nullptr: none
};

constexpr Case kCases[] = {
    {"model.safetensors", "config.json", kConfig, "transformer.", nullptr},
    {"config.json", nullptr, nullptr, "transformer.", "model.safetensors"},
    {kIndex, "config.json", kConfig, "", "a.safetensors"},
    {"model_args.json", nullptr, nullptr, "transformer.", "model.safetensors"},
    {"model.safetensors", "model_args.json", kArguments, nullptr, nullptr},
    {"model.bin", nullptr, nullptr, nullptr, nullptr},
};

void ReadWhole(const interop::ModelSource& model) {
  std::vector<float> values;
  for (const auto& tensor : runspec::MakeParameterLayout(model.shape()).tensors) {
    values.resize(static_cast<size_t>(tensor.count));
    if (!model.Read(tensor, values).ok()) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Case& tried = kCases[data[0] % std::size(kCases)];
  const ModelDirectory directory;
  if (tried.config != nullptr) directory.Write(tried.config, tried.config_text);
  if (tried.weights != nullptr) {
    const bool transposed = tried.config != nullptr || tried.changed[0] == 'c';
    directory.Write(tried.weights, GoodWeights({.prefix = tried.prefix, .transposed = transposed}));
  }
  directory.Write(tried.changed, {reinterpret_cast<const char*>(data) + 1, size - 1});
  const auto model = interop::OpenModelAt(directory.path());
  if (model.ok()) {
    ReadWhole(**model);
  } else {
    GP_CHECK(!Message(model.status()).empty());
  }
  return 0;
}
