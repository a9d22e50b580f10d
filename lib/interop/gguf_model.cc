#include "interop/gguf_model.h"

#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/excerpt.h"
#include "plan/align_up.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/merges_text.h"

namespace gp::interop {
namespace {

using runspec::ModelShape;

constexpr uint32_t kGgufVersion = 3;
constexpr uint64_t kGgufAlignment = 32;

// Types of the header's values.
enum class GgufValue : uint32_t {
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
};
// Types of tokens.
enum class GgufToken : int32_t { kNormal = 1, kControl = 3, kUnused = 5 };
// Types of tensors, and the type of a file, which follows from the type of its matrices.
constexpr uint32_t kTensorF32 = 0, kTensorBf16 = 30;
constexpr uint32_t kFileF32 = 0, kFileBf16 = 32;

// The bytes of the header, value by value.
class GgufHeader {
 public:
  void Add(std::string_view key, GgufValue type, uint32_t value) {
    Key(key, type);
    Number(value);
  }
  void Add(std::string_view key, const std::string& text) {
    Key(key, GgufValue::kString);
    Text(text);
  }
  void Add(std::string_view key, bool value) {
    Key(key, GgufValue::kBool);
    bytes_.push_back(value ? 1 : 0);
  }
  void Add(std::string_view key, const std::vector<std::string>& texts) {
    Array(key, GgufValue::kString, texts.size());
    for (const std::string& text : texts) Text(text);
  }
  void Add(std::string_view key, const std::vector<GgufToken>& types) {
    Array(key, GgufValue::kInt32, types.size());
    for (const GgufToken type : types) Number(static_cast<uint32_t>(type));
  }
  // Dimensions are listed from the innermost one.
  void AddTensor(const CopiedTensor& tensor, uint64_t offset) {
    Text(tensor.name);
    Number(static_cast<uint32_t>(tensor.shape.size()));
    for (size_t i = tensor.shape.size(); i-- > 0;) {
      Number(static_cast<uint64_t>(tensor.shape[i]));
    }
    Number(tensor.type == FloatType::kBf16 ? kTensorBf16 : kTensorF32);
    Number(offset);
    ++tensor_count_;
  }

  std::string Finish() const {
    GgufHeader start;
    start.bytes_ = "GGUF";
    start.Number(kGgufVersion);
    start.Number(tensor_count_);
    start.Number(value_count_);
    std::string all = start.bytes_ + bytes_;
    all.resize(static_cast<size_t>(runspec::AlignUp(std::ssize(all), kGgufAlignment)));
    return all;
  }

 private:
  template <typename T>
  void Number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Text(std::string_view text) {
    Number(uint64_t{text.size()});
    bytes_.append(text);
  }
  void Key(std::string_view key, GgufValue type) {
    Text(key);
    Number(static_cast<uint32_t>(type));
    ++value_count_;
  }
  void Array(std::string_view key, GgufValue element, size_t count) {
    Key(key, GgufValue::kArray);
    Number(static_cast<uint32_t>(element));
    Number(uint64_t{count});
  }

  std::string bytes_;
  uint64_t value_count_ = 0;
  uint64_t tensor_count_ = 0;
};

// llama.cpp's names for modules of GPT-2.
std::string GgufName(const std::string& name) {
  static const std::map<std::string_view, std::string_view> kModules = {
      {"wte", "token_embd"},          {"wpe", "position_embd"}, {"ln_f", "output_norm"},
      {"lm_head", "output"},          {"ln_1", "attn_norm"},    {"attn.c_attn", "attn_qkv"},
      {"attn.c_proj", "attn_output"}, {"ln_2", "ffn_norm"},     {"mlp.c_fc", "ffn_up"},
      {"mlp.c_proj", "ffn_down"}};
  const size_t dot = name.rfind('.');
  const std::string kind = name.substr(dot);  // ".weight", ".bias"
  if (!name.starts_with("h.")) return std::string(kModules.at(name.substr(0, dot))) + kind;
  const size_t block_end = name.find('.', 2);
  const std::string block = name.substr(2, block_end - 2);
  const std::string module = name.substr(block_end + 1, dot - block_end - 1);
  return fmt::format("blk.{}.{}{}", block, kModules.at(module), kind);
}

struct GgufVocabulary {
  std::vector<std::string> tokens;
  std::vector<GgufToken> types;
  std::vector<std::string> merges;  // "left right"

  void Add(std::string token, GgufToken type) {
    tokens.push_back(std::move(token));
    types.push_back(type);
  }
};

void AddLines(const std::string& lines, std::vector<std::string>& to) {
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = lines.find('\n', begin);
    to.push_back(lines.substr(begin, end - begin));
    begin = end + 1;
  }
}

GgufVocabulary VocabularyOf(const BytePairVocabulary& known) {
  GgufVocabulary vocabulary;
  for (int32_t id = 0; id < std::ssize(known.tokens); ++id) {
    const std::string& token = known.tokens[static_cast<size_t>(id)];
    const bool special = known.IsSpecial(id);
    vocabulary.Add(special ? token : InByteAlphabet(token),
                   special ? GgufToken::kControl : GgufToken::kNormal);
  }
  AddLines(MergeLines(known), vocabulary.merges);
  return vocabulary;
}

GgufVocabulary VocabularyOfBytes() {
  GgufVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.Add(InByteAlphabet(std::string(1, static_cast<char>(byte))), GgufToken::kNormal);
  }
  return vocabulary;
}

// Refuses a tokenizer with tokens that no merges make, because llama.cpp makes every token by
// merging the bytes of a piece.
Status CheckMergesTellAll(const BytePairTokenizer& tokenizer) {
  const auto id = tokenizer.token_without_merges();
  if (!id) return OkStatus();
  return FailedPrecondition(
      "llama.cpp would encode some texts differently: no merge produces the token '{}' (id {}), "
      "which this tokenizer matches as a whole (ignore_merges in its tokenizer.json); export the "
      "model as hf",
      Excerpt(tokenizer.vocabulary().tokens[static_cast<size_t>(*id)]), *id);
}

// Makes one token for each id of the model.
StatusOr<GgufVocabulary> MakeGgufVocabulary(const Tokenizer& tokenizer, int64_t ids) {
  GgufVocabulary vocabulary;
  if (const auto* bpe = dynamic_cast<const BytePairTokenizer*>(&tokenizer)) {
    RETURN_IF_ERROR(CheckMergesTellAll(*bpe));
    vocabulary = VocabularyOf(bpe->vocabulary());
  } else if (tokenizer.kind() == "bytes") {
    vocabulary = VocabularyOfBytes();
  } else {
    return FailedPrecondition(
        "llama.cpp has no tokenizer like this model's ({}): expected bytes or a byte-level BPE",
        tokenizer.kind());
  }
  while (std::ssize(vocabulary.tokens) < ids) {
    vocabulary.Add(fmt::format("[PAD{}]", vocabulary.tokens.size()), GgufToken::kUnused);
  }
  return vocabulary;
}

void AddSizes(const ModelShape& shape, GgufHeader& header) {
  const auto add = [&header](const std::string& key, int64_t value) {
    header.Add("gpt2." + key, GgufValue::kUint32, static_cast<uint32_t>(value));
  };
  add("block_count", shape.layers);
  add("context_length", shape.context);
  add("embedding_length", shape.channels);
  add("feed_forward_length", 4 * shape.channels);
  add("attention.head_count", shape.heads);
  header.Add("gpt2.attention.layer_norm_epsilon", GgufValue::kFloat32,
             std::bit_cast<uint32_t>(1e-5f));
}

// The keys for tokens that end a text: llama.cpp has three.
constexpr const char* kEndKeys[] = {"eos", "eot", "eom"};

Status CheckEnds(const SpecialTokens& special) {
  if (special.model_eos.size() <= std::size(kEndKeys)) return OkStatus();
  return FailedPrecondition(
      "llama.cpp supports at most {} end-of-text tokens, but this model has {}; export the model "
      "as hf",
      std::size(kEndKeys), special.model_eos.size());
}

void AddSpecialTokens(const SpecialTokens& special, GgufHeader& header) {
  const auto add = [&header](const char* name, std::optional<int32_t> id) {
    if (!id) return;
    header.Add(fmt::format("tokenizer.ggml.{}_token_id", name), GgufValue::kUint32,
               static_cast<uint32_t>(*id));
  };
  add("bos", special.bos ? special.bos : special.model_bos);
  for (size_t i = 0; i < special.model_eos.size(); ++i) add(kEndKeys[i], special.model_eos[i]);
  add("padding", special.pad ? special.pad : special.model_pad);
  add("unknown", special.unk);
}

void AddTokenizer(const GgufVocabulary& vocabulary, const SpecialTokens& special,
                  GgufHeader& header) {
  header.Add("tokenizer.ggml.model", std::string("gpt2"));
  header.Add("tokenizer.ggml.pre", std::string("gpt-2"));
  header.Add("tokenizer.ggml.tokens", vocabulary.tokens);
  header.Add("tokenizer.ggml.token_type", vocabulary.types);
  header.Add("tokenizer.ggml.merges", vocabulary.merges);
  header.Add("tokenizer.ggml.add_bos_token", false);
  AddSpecialTokens(special, header);
}

uint64_t BytesOf(const CopiedTensor& tensor) {
  return static_cast<uint64_t>(tensor.count() * FloatBytes(tensor.type));
}

uint64_t Aligned(uint64_t bytes) {
  return static_cast<uint64_t>(runspec::AlignUp(static_cast<int64_t>(bytes), kGgufAlignment));
}

// Weights that llama.cpp multiplies may be bf16; norms, biases and positions are fp32.
std::vector<CopiedTensor> GgufTensors(const ModelShape& shape,
                                      const runspec::ParameterLayout& source, FloatType type) {
  std::vector<CopiedTensor> tensors = TensorsFor(runspec::MakeParameterLayout(shape), source, type);
  for (CopiedTensor& tensor : tensors) {
    if (tensor.shape.size() < 2 || tensor.name == "wpe.weight") tensor.type = FloatType::kF32;
    tensor.name = GgufName(tensor.name);
  }
  return tensors;
}

Status AppendAligned(const ModelSource& source, const CopiedTensor& tensor,
                     const CopyOptions& options, ModelFile& file) {
  RETURN_IF_ERROR(CopyTensors(source, {tensor}, options, file));
  return file.Append(std::string(Aligned(BytesOf(tensor)) - BytesOf(tensor), '\0'));
}

ModelShape ShapeInGguf(ModelShape shape) {
  shape.bias = true;
  shape.vocabulary_padded = shape.vocabulary;
  return shape;
}

}  // namespace

Status WriteGguf(const ModelSource& source, const std::string& name, const CopyOptions& options,
                 const std::string& path) {
  const ModelShape shape = ShapeInGguf(source.shape());
  if (shape.gelu == runspec::Gelu::kErf) {
    return FailedPrecondition(
        "llama.cpp computes GPT-2's gelu by its tanh approximation; this model was trained with "
        "the exact one (model.gelu: erf)");
  }
  RETURN_IF_ERROR(CheckEnds(source.tokenizer()->special_tokens()));
  ASSIGN_OR_RETURN(const GgufVocabulary vocabulary,
                   MakeGgufVocabulary(*source.tokenizer(), shape.vocabulary));
  const auto layout = runspec::MakeParameterLayout(source.shape());
  const std::vector<CopiedTensor> tensors = GgufTensors(shape, layout, options.type);
  GgufHeader header;
  header.Add("general.architecture", std::string("gpt2"));
  header.Add("general.name", name);
  header.Add("general.file_type", GgufValue::kUint32,
             options.type == FloatType::kBf16 ? kFileBf16 : kFileF32);
  AddSizes(shape, header);
  AddTokenizer(vocabulary, source.tokenizer()->special_tokens(), header);
  uint64_t offset = 0;
  for (const CopiedTensor& tensor : tensors) {
    header.AddTensor(tensor, offset);
    offset += Aligned(BytesOf(tensor));
  }
  ASSIGN_OR_RETURN(ModelFile file, ModelFile::Create(path));
  RETURN_IF_ERROR(file.Append(header.Finish()));
  for (const CopiedTensor& tensor : tensors) {
    RETURN_IF_ERROR(AppendAligned(source, tensor, options, file));
  }
  return file.Close().status();
}

}  // namespace gp::interop
