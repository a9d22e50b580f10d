// `gp-peer-bench gradients`: one forward and backward pass compared with the reference engine's
// (torch::nn with autograd, fp32, on the CPU) from the same weights and batch; reports how far the
// gradients differ.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <random>

#include "bench/peer_bench/peer_command.h"
#include "worker/bench/core_set.h"
#include "worker/bench/model_flags.h"
#include "worker/bench/report.h"

namespace gp::engine {
namespace {

struct GradientsFlags {
  ModelFlags model;
  double tolerance = 1e-2;
};

struct Pass {
  double loss = 0;  // mean
  std::vector<float> gradients;
};

// The relative distance |a - b| / |b|, by norm.
struct Distance {
  double difference = 0;  // squared
  double norm = 0;        // squared

  void Add(double ours, double reference) {
    difference += (ours - reference) * (ours - reference);
    norm += reference * reference;
  }
  double relative() const { return norm > 0 ? std::sqrt(difference / norm) : 0; }
};

struct Comparison {
  double all = 0;
  double worst = 0;
  std::string worst_tensor;
};

std::vector<int32_t> Ids(const ModelOptions& options, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> ids(static_cast<size_t>(options.micro_batch * options.sequence));
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(random() % static_cast<uint64_t>(options.shape.vocabulary));
  }
  return ids;
}

Pass Run(const ModelOptions& options) {
  const std::unique_ptr<LanguageModel> model = MakeLanguageModel(options);
  InitializeNormal(1337, *model, options.threads);
  const std::vector<int32_t> tokens = Ids(options, 1);
  const std::vector<int32_t> targets = Ids(options, 2);
  const auto count = static_cast<size_t>(model->layout().total_count);
  const auto bytes = static_cast<int64_t>(count * sizeof(float));
  const std::span<float> gradients{static_cast<float*>(model->backend().Allocate(bytes)), count};
  Pass pass{.gradients = std::vector<float>(count)};
  const auto scale = 1.0f / static_cast<float>(tokens.size());
  pass.loss = scale * model->Forward({tokens, targets, options.micro_batch, options.sequence}, {});
  model->Backward(scale, gradients, /*accumulate=*/false, {});
  model->backend().Download(pass.gradients.data(), gradients.data(), bytes);
  return pass;
}

// The options with which the reference engine computes the same model and batch.
ModelOptions ReferenceOf(ModelOptions options) {
  options.kind = runspec::EngineKind::kReference;
  options.precision = runspec::Precision::kFp32;
  options.attention = runspec::Attention::kFlash;
  options.recompute = runspec::Recompute::kNone;
  options.chunked_head = 0;
  options.residual = runspec::ResidualType::kFp32;
  options.device = {};
  return options;
}

Comparison Compare(const runspec::ParameterLayout& layout, const Pass& ours, const Pass& theirs) {
  Comparison result;
  Distance all;
  for (const runspec::ParameterInfo& tensor : layout.tensors) {
    Distance here;
    for (int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
      const auto index = static_cast<size_t>(i);
      here.Add(ours.gradients[index], theirs.gradients[index]);
    }
    all.difference += here.difference;
    all.norm += here.norm;
    if (!(here.relative() <= result.worst)) {
      result.worst = here.relative();
      result.worst_tensor = tensor.name;
    }
  }
  result.all = all.relative();
  return result;
}

void PrintGradients(const Json& r) {
  fmt::print("model {}, batch {} x {} tokens, {}, {} kernels\n", r["model"].get<std::string>(),
             r["batch"].get<int64_t>(), r["sequence"].get<int64_t>(),
             r["precision"].get<std::string>(), r["device"].get<std::string>());
  fmt::print("loss       {:.6f}, the reference engine's {:.6f}\n", r["loss"].get<double>(),
             r["reference_loss"].get<double>());
  fmt::print("gradients  differ by {:.2e} of their norm (allowed {:.1e}), most in {}: {:.2e}\n",
             r["gradient_error"].get<double>(), r["tolerance"].get<double>(),
             r["worst_tensor"].get<std::string>(), r["worst_error"].get<double>());
}

Status RunGradients(const GradientsFlags& flags) {
  const ModelOptions options = MakeModelOptions(flags.model);
  UseCores(options.threads);
  const Pass ours = Run(options);
  const Pass theirs = Run(ReferenceOf(options));
  const Comparison found = Compare(runspec::MakeParameterLayout(options.shape), ours, theirs);
  Json report = MakeDocument("GradientCheck");
  report.update({{"model", flags.model.model},
                 {"batch", options.micro_batch},
                 {"sequence", options.sequence},
                 {"precision", PrecisionName(options)},
                 {"device", DeviceName(options)},
                 {"loss", ours.loss},
                 {"reference_loss", theirs.loss},
                 {"gradient_error", found.all},
                 {"worst_tensor", found.worst_tensor},
                 {"worst_error", found.worst},
                 {"tolerance", flags.tolerance}});
  flags.model.json() ? PrintJson(report) : PrintGradients(report);
  if (found.all <= flags.tolerance) return OkStatus();
  return FailedPrecondition(
      "the gradients differ from the reference engine's by {:.2e} of their norm, more than {:.1e}; "
      "most in {}: {:.2e}",
      found.all, flags.tolerance, found.worst_tensor, found.worst);
}

}  // namespace

BenchRun AddGradientsCommand(const Command& app) {
  auto flags = std::make_shared<GradientsFlags>();
  flags->model.batch = 2;
  flags->model.sequence = 64;
  AddModelFlags(app, flags->model);
  AddEngineFlags(app, flags->model);
  app.Option("--tolerance", flags->tolerance, "of all gradients together, relative by norm")
      .Positive()
      .ShowDefault();
  return [flags] { return RunGradients(*flags); };
}

}  // namespace gp::engine
