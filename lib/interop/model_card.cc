#include "interop/model_card.h"

#include "base/file.h"
#include "base/text/excerpt.h"

namespace gp::interop {
namespace {

using formats::CheckpointManifest;
using runspec::ModelShape;

std::string_view UseOf(ExportFormat format) {
  switch (format) {
    case ExportFormat::kHuggingFace:
      return "```python\n"
             "from transformers import AutoModelForCausalLM\n\n"
             "model = AutoModelForCausalLM.from_pretrained(\".\")\n"
             "```\n";
    case ExportFormat::kLlmc:
      return "`model.bin` is llm.c's model file: `train_gpt2 -e model.bin`.\n";
    case ExportFormat::kNanoGpt:
      return "`model.safetensors` holds nanoGPT's state dict, `model_args.json` the arguments "
             "of its GPTConfig:\n\n```python\nimport json, safetensors.torch\nfrom model import "
             "GPT, GPTConfig\n\nmodel = "
             "GPT(GPTConfig(**json.load(open(\"model_args.json\"))))\nsafetensors.torch.load_model("
             "model, "
             "\"model.safetensors\", strict=False)\n```\n";
    case ExportFormat::kGguf:
      return "`model.gguf` is for llama.cpp: `llama-server --model model.gguf`.\n";
  }
  return "";
}

std::string ShapeRows(const ModelShape& shape, FloatType type) {
  return fmt::format(
      "| parameters | {} |\n"
      "| blocks, heads, channels | {}, {}, {} |\n"
      "| context | {} tokens |\n"
      "| vocabulary | {} |\n"
      "| gelu | {} |\n"
      "| biases | {} |\n"
      "| stored as | {} |\n",
      runspec::ParameterCount(shape), shape.layers, shape.heads, shape.channels, shape.context,
      shape.vocabulary, shape.gelu == runspec::Gelu::kErf ? "exact" : "tanh approximation",
      shape.bias ? "yes" : "none; stored as zeros where the format requires them",
      FloatTypeName(type));
}

std::string TrainingRows(const CheckpointManifest& manifest) {
  std::string rows;
  if (const auto& imported = manifest.record.imported_from) {
    rows += fmt::format("| imported from | {} |\n", Excerpt(BaseNameOf(*imported)));
  } else {
    rows += fmt::format("| run | {}, step {} |\n| tokens trained on | {} |\n",
                        Excerpt(manifest.run_name), manifest.step, manifest.tokens);
  }
  if (manifest.validation_loss) {
    rows += fmt::format("| validation loss | {:.4f} nats per token |\n", *manifest.validation_loss);
  }
  return rows;
}

}  // namespace

std::string ModelCard(const CheckpointModel& checkpoint, ExportFormat format, FloatType type) {
  const CheckpointManifest& manifest = checkpoint.manifest;
  return fmt::format(
      "---\nlibrary_name: {}\npipeline_tag: text-generation\ntags:\n- gpt2\n---\n\n# {}\n\nA "
      "GPT-2-class language model, exported by gp.\n\n| | |\n|---|---|\n{}{}| tokenizer | {}, "
      "{} ids |\n\n{}\nTo be completed by the author: training data, intended use and "
      "licence.\n",
      format == ExportFormat::kHuggingFace ? "transformers" : "gp", Excerpt(manifest.run_name),
      TrainingRows(manifest), ShapeRows(manifest.shape, type),
      checkpoint.model->tokenizer()->kind(), checkpoint.model->tokenizer()->vocabulary_size(),
      UseOf(format));
}

}  // namespace gp::interop
