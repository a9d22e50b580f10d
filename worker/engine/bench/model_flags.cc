#include "worker/engine/bench/model_flags.h"

#include <fmt/format.h>

#include <map>

#include "base/usable_cores.h"
#include "worker/engine/backend/cpu/tuned_choices.h"

namespace gp::engine {
namespace {

const std::map<std::string, runspec::EngineKind>& Engines() {
  static const std::map<std::string, runspec::EngineKind> engines = {
      {"fused", runspec::EngineKind::kFused},
      {"eager", runspec::EngineKind::kEager},
      {"reference", runspec::EngineKind::kReference}};
  return engines;
}

const std::map<std::string, runspec::Precision>& Precisions() {
  static const std::map<std::string, runspec::Precision> precisions = {
      {"fp32", runspec::Precision::kFp32},
      {"tf32", runspec::Precision::kTf32},
      {"bf16", runspec::Precision::kBf16},
      {"fp16", runspec::Precision::kFp16},
      {"fp8", runspec::Precision::kFp8}};
  return precisions;
}

const std::map<std::string, runspec::Attention>& Attentions() {
  static const std::map<std::string, runspec::Attention> attentions = {
      {"flash", runspec::Attention::kFlash},
      {"math", runspec::Attention::kMath},
      {"cudnn", runspec::Attention::kCudnn}};
  return attentions;
}

void AddMemoryFlags(CLI::App& app, ModelFlags& flags) {
  app.add_option("--attention", flags.attention)
      ->check(CLI::IsMember({"flash", "math", "cudnn"}))
      ->capture_default_str();
  app.add_option("--recompute", flags.recompute, "what backward computes again")
      ->check(CLI::IsMember({"none", "gelu", "block"}))
      ->capture_default_str();
  app.add_option("--chunked-head", flags.chunked_head, "rows of logits at a time, 0 for all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--residual", flags.residual, "type of the residual stream")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->capture_default_str();
}

const std::map<std::string, runspec::Recompute>& Recomputations() {
  static const std::map<std::string, runspec::Recompute> recomputations = {
      {"none", runspec::Recompute::kNone},
      {"gelu", runspec::Recompute::kGelu},
      {"block", runspec::Recompute::kBlock}};
  return recomputations;
}

}  // namespace

void AddShapeFlags(CLI::App& app, ModelFlags& flags) {
  app.add_option("--model", flags.model, "size of the model")
      ->check(CLI::IsMember(runspec::ModelNames()))
      ->capture_default_str();
  app.add_option("--batch", flags.batch, "sequences of a micro-batch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--sequence", flags.sequence, "tokens of a sequence, 0 for the model's context")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "threads (default: one per core)")
      ->check(CLI::Range(1, 1024));
  AddOutputFlag(app, flags.output);
}

void AddModelFlags(CLI::App& app, ModelFlags& flags) {
  AddShapeFlags(app, flags);
  app.add_option("--precision", flags.precision)
      ->check(CLI::IsMember({"fp32", "tf32", "bf16", "fp16", "fp8"}))
      ->capture_default_str();
  AddDeviceFlag(app, flags);
  AddMemoryFlags(app, flags);
}

void AddEngineFlags(CLI::App& app, ModelFlags& flags) {
  app.add_option("--isa", flags.isa, "kernels: auto, generic, avx2, avx512, avx512_bf16")
      ->capture_default_str();
  app.add_option("--engine", flags.engine)
      ->check(CLI::IsMember({"fused", "eager", "reference"}))
      ->capture_default_str();
  app.add_flag("!--no-graph", flags.graph, "launch each operation of a step by itself");
  app.add_flag("--deterministic", flags.deterministic,
               "equal bits in every run; on a GPU nothing is then chosen by timing");
  app.add_option("--peak-side", flags.peak_side,
                 "rows and columns of the product that measures a GPU's peak")
      ->check(CLI::Range(16, 65536))
      ->capture_default_str();
}

void AddDeviceFlag(CLI::App& app, ModelFlags& flags) {
  app.add_option("--device", flags.device, "cpu, or the first GPU that this process may use")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->capture_default_str();
}

void AddOutputFlag(CLI::App& app, std::string& output) {
  app.add_option("-o,--output", output)
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

ModelOptions MakeModelOptions(const ModelFlags& flags) {
  ModelOptions options;
  options.shape = *runspec::NamedModelShape(flags.model);
  options.micro_batch = flags.batch;
  options.sequence = flags.sequence > 0 ? flags.sequence : options.shape.context;
  options.threads = flags.threads > 0 ? flags.threads : CountUsableCores();
  options.isa = ParseIsa(flags.isa);
  options.choices = ReadTunedChoices(ResolveIsa(options.isa), options.threads);
  options.kind = Engines().at(flags.engine);
  options.precision = Precisions().at(flags.precision);
  options.attention = Attentions().at(flags.attention);
  options.recompute = Recomputations().at(flags.recompute);
  options.chunked_head = flags.chunked_head;
  if (flags.residual == "bf16") options.residual = runspec::ResidualType::kBf16;
  options.device = {
      .on = flags.device == "gpu", .graph = flags.graph, .deterministic = flags.deterministic};
  return options;
}

std::vector<std::string> PeerArguments(const ModelOptions& options) {
  const runspec::ModelShape& s = options.shape;
  return {fmt::format("--layers={}", s.layers),
          fmt::format("--heads={}", s.heads),
          fmt::format("--channels={}", s.channels),
          fmt::format("--context={}", s.context),
          fmt::format("--vocabulary={}", s.vocabulary_padded),
          fmt::format("--bias={}", s.bias ? 1 : 0),
          fmt::format("--gelu={}", s.gelu == runspec::Gelu::kTanh ? "tanh" : "erf"),
          fmt::format("--batch={}", options.micro_batch),
          fmt::format("--sequence={}", options.sequence),
          fmt::format("--threads={}", options.threads),
          fmt::format("--device={}", options.device.on ? "cuda" : "cpu"),
          fmt::format("--precision={}", PrecisionName(options))};
}

const char* PrecisionName(const ModelOptions& options) {
  for (const auto& [name, precision] : Precisions()) {
    if (precision == options.precision) return name.c_str();
  }
  return "auto";
}

DataType ComputeTypeOf(const ModelOptions& options) {
  const runspec::ArenaOptions arena = ArenaOptionsOf(options);
  if (arena.fp16) return DataType::kFloat16;
  return arena.bf16 ? DataType::kBfloat16 : DataType::kFloat32;
}

std::string DeviceName(const ModelOptions& options) {
  return options.device.on ? FindDevice().name : "cpu";
}

}  // namespace gp::engine
