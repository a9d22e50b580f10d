#include "worker/bench/model_flags.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "base/machine/usable_cores.h"
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
      {"cudnn", runspec::Attention::kCudnn},
      {"own", runspec::Attention::kOwn}};
  return attentions;
}

void AddMemoryFlags(const Command& app, ModelFlags& flags) {
  app.Option("--attention", flags.attention,
             "flash: cuDNN's where it works, else gp's own; cudnn, own: nothing else")
      .OneOf({"flash", "math", "cudnn", "own"})
      .ShowDefault();
  app.Option("--recompute", flags.recompute, "what the backward pass recomputes")
      .OneOf({"none", "gelu", "block"})
      .ShowDefault();
  app.Option("--chunked-head", flags.chunked_head, "rows of logits at a time, 0 for all")
      .NonNegative()
      .ShowDefault();
  app.Option("--residual", flags.residual, "type of the residual stream")
      .OneOf({"fp32", "bf16"})
      .ShowDefault();
  app.Option("--train", flags.train,
             "a part of the model to train, like 'last 2 blocks'; may be repeated");
}

runspec::TrainedParts TrainedPartsOf(const ModelFlags& flags, const runspec::ModelShape& shape) {
  runspec::TrainedParts parts;
  for (const std::string& text : flags.train) {
    const auto part = runspec::ParseModelPart(text, shape);
    if (!part) throw std::invalid_argument("--train: '" + text + "' is not a part of the model");
    parts.trained.push_back(*part);
  }
  return parts;
}

const std::map<std::string, runspec::Recompute>& Recomputations() {
  static const std::map<std::string, runspec::Recompute> recomputations = {
      {"none", runspec::Recompute::kNone},
      {"gelu", runspec::Recompute::kGelu},
      {"block", runspec::Recompute::kBlock}};
  return recomputations;
}

}  // namespace

void AddShapeFlags(const Command& app, ModelFlags& flags) {
  app.Option("--model", flags.model, "size of the model")
      .OneOf(runspec::ModelNames())
      .ShowDefault();
  app.Option("--batch", flags.batch, "sequences of a micro-batch").Positive().ShowDefault();
  app.Option("--sequence", flags.sequence, "tokens of a sequence, 0 for the model's context")
      .NonNegative()
      .ShowDefault();
  app.Option("--threads", flags.threads, "threads (default: one per core)").Between(1, 1024);
  AddOutputFlag(app, flags.output);
}

void AddModelFlags(const Command& app, ModelFlags& flags) {
  AddShapeFlags(app, flags);
  app.Option("--precision", flags.precision)
      .OneOf({"fp32", "tf32", "bf16", "fp16", "fp8"})
      .ShowDefault();
  AddDeviceFlag(app, flags);
  AddMemoryFlags(app, flags);
}

void AddEngineFlags(const Command& app, ModelFlags& flags) {
  app.Option("--isa", flags.isa, "kernels: auto, generic, avx2, avx512, avx512_bf16, amx")
      .ShowDefault();
  app.Option("--engine", flags.engine).OneOf({"fused", "eager", "reference"}).ShowDefault();
  app.Switch("!--no-graph", flags.graph, "launch each operation of a step separately");
  app.Switch("--deterministic", flags.deterministic,
             "bit-identical results in every run; on a GPU, no algorithm is chosen by timing");
  AddPeakFlag(app, flags.peak_side);
}

void AddPeakFlag(const Command& app, int64_t& side) {
  app.Option("--peak-side", side, "size of the square matrix product that measures a GPU's peak")
      .Between(16, 65536)
      .ShowDefault();
}

void AddDeviceFlag(const Command& app, ModelFlags& flags) {
  app.Option("--device", flags.device, "cpu, or the first GPU that this process may use")
      .OneOf({"cpu", "gpu"})
      .ShowDefault();
}

void AddOutputFlag(const Command& app, std::string& output) {
  app.Option("-o,--output", output).OneOf({"text", "json"}).ShowDefault();
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
  options.trained = TrainedPartsOf(flags, options.shape);
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
