#include "interop/hugging_face_config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text/excerpt.h"
#include "formats/strict_json.h"
#include "interop/json_fields.h"
#include "plan/model_shape_limits.h"

namespace gp::interop {
namespace {

using runspec::Gelu;
using runspec::ModelShape;

constexpr double kLayerNormEps = 1e-5;  // in every backend

// The names that transformers' ACT2FN has for the two functions that gp computes.
std::optional<Gelu> GeluOf(const std::string& name) {
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Gelu::kTanh;
  if (name == "gelu" || name == "gelu_python") return Gelu::kErf;
  return std::nullopt;
}

void RefuseWhatIsNotComputed(JsonFields& config, int64_t channels) {
  const auto require = [&](const std::string& key, bool wanted) {
    if (config.Flag(key, wanted) == wanted) return;
    config.Fail(key, fmt::format("is {}; gp supports only {}", !wanted, wanted));
  };
  require("scale_attn_weights", true);
  require("scale_attn_by_inverse_layer_idx", false);
  require("add_cross_attention", false);
  const double eps = config.Number("layer_norm_epsilon", kLayerNormEps);
  if (!(std::abs(eps - kLayerNormEps) < 1e-9)) {
    config.Fail("layer_norm_epsilon", fmt::format("is {}; gp supports only 1e-05", eps));
  }
  const int64_t inner = config.Count("n_inner", 4 * channels);
  if (inner != 4 * channels) {
    config.Fail("n_inner",
                fmt::format("is {}; gp supports only 4 n_embd = {}", inner, 4 * channels));
  }
}

void ReadModelType(JsonFields& config) {
  const std::string type = config.Text("model_type", "");
  if (type == "gpt2") return;
  config.Fail("model_type", type.empty() ? "is missing, expected gpt2"
                                         : fmt::format("is {}, expected gpt2", Excerpt(type)));
}

Gelu ReadGelu(JsonFields& config) {
  const std::string name = config.Text("activation_function", "gelu_new");
  const auto gelu = GeluOf(name);
  if (!gelu) {
    config.Fail("activation_function",
                fmt::format("is {}, expected gelu_new (tanh) or gelu (erf)", Excerpt(name)));
  }
  return gelu.value_or(Gelu::kTanh);
}

// Writes null for a missing id: without the key, transformers would take GPT-2's id.
nlohmann::ordered_json TokenIds(const SpecialTokens& special) {
  const auto id_or_null = [](std::optional<int32_t> id) {
    return id ? nlohmann::ordered_json(*id) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json ids = {{"bos_token_id", id_or_null(special.model_bos)},
                                {"eos_token_id", special.model_eos},
                                {"pad_token_id", id_or_null(special.model_pad)}};
  if (special.model_eos.empty()) ids["eos_token_id"] = nullptr;
  if (special.model_eos.size() == 1) ids["eos_token_id"] = special.model_eos[0];
  return ids;
}

double ReadDropout(JsonFields& config) {
  const double dropout = config.Number("resid_pdrop", 0.1);
  if (dropout >= 0 && dropout < 1) return dropout;
  config.Fail("resid_pdrop", fmt::format("is {}, expected a probability below 1", dropout));
  return 0;
}

}  // namespace

StatusOr<ModelShape> ParseHuggingFaceConfig(std::string_view text, const std::string& path) {
  ASSIGN_OR_RETURN(const nlohmann::json object, formats::ParseJsonFile(text, path));
  JsonFields config(object, path);
  ModelShape shape;
  ReadModelType(config);
  shape.layers = config.Count("n_layer");
  shape.heads = config.Count("n_head");
  shape.channels = config.Count("n_embd");
  shape.context = config.Count("n_positions");
  shape.vocabulary = shape.vocabulary_padded = config.Count("vocab_size");
  shape.gelu = ReadGelu(config);
  shape.dropout = ReadDropout(config);
  shape.tied_head = config.Flag("tie_word_embeddings", true);
  RETURN_IF_ERROR(config.status());
  const std::string problem = runspec::ProblemWithSizes(shape);
  if (!problem.empty()) return InvalidArgument("{}: {}", path, problem);
  RefuseWhatIsNotComputed(config, shape.channels);
  RETURN_IF_ERROR(config.status());
  return shape;
}

std::string FormatHuggingFaceConfig(const ModelShape& shape, FloatType type,
                                    const SpecialTokens& special) {
  const std::string dtype = type == FloatType::kBf16 ? "bfloat16" : "float32";
  nlohmann::ordered_json config = {
      {"architectures", {"GPT2LMHeadModel"}},
      {"model_type", "gpt2"},
      {"n_layer", shape.layers},
      {"n_head", shape.heads},
      {"n_embd", shape.channels},
      {"n_positions", shape.context},
      {"n_ctx", shape.context},
      {"n_inner", nullptr},
      {"vocab_size", shape.vocabulary},
      {"activation_function", shape.gelu == Gelu::kErf ? "gelu" : "gelu_new"},
      {"layer_norm_epsilon", kLayerNormEps},
      {"initializer_range", 0.02},
      {"resid_pdrop", shape.dropout},
      {"embd_pdrop", shape.dropout},
      {"attn_pdrop", shape.dropout},
      {"scale_attn_weights", true},
      {"tie_word_embeddings", shape.tied_head},
      {"use_cache", true},
      {"dtype", dtype},
      {"torch_dtype", dtype}};
  config.update(TokenIds(special));
  return config.dump(2) + "\n";
}

std::string FormatGenerationConfig(const SpecialTokens& special) {
  nlohmann::ordered_json config = {{"_from_model_config", true}};
  config.update(TokenIds(special));
  return config.dump(2) + "\n";
}

}  // namespace gp::interop
