// `gp-bench tune`: finds by timing how this machine best computes a model's matrix products and
// keeps the choices in the tuning cache, which runs start with. Choices change only the time, not
// the bits.
#include <fmt/format.h>

#include <memory>

#include "worker/bench/bench_command.h"
#include "worker/bench/core_set.h"
#include "worker/bench/model_flags.h"
#include "worker/bench/report.h"
#include "worker/engine/backend/cpu/tuned_choices.h"

namespace gp::engine {
namespace {

struct TuneFlags {
  ModelFlags model;
  bool dry_run = false;
};

// The products of a step: the four layers of a block, and the head (of one chunk, if the head is
// chunked).
std::vector<GemmProblem> ProblemsOfModel(const ModelOptions& options) {
  const int64_t rows = options.micro_batch * options.sequence;
  const int64_t c = options.shape.channels;
  const runspec::ArenaOptions arena = ArenaOptionsOf(options);
  std::vector<GemmProblem> problems;
  for (const LinearShape& shape :
       {LinearShape{rows, c, 3 * c}, LinearShape{rows, c, c}, LinearShape{rows, c, 4 * c},
        LinearShape{rows, 4 * c, c},
        LinearShape{runspec::HeadRows(arena), c, options.shape.vocabulary_padded}}) {
    const DataType type = arena.bf16 ? DataType::kBfloat16 : DataType::kFloat32;
    for (const GemmProblem& problem : ProblemsOf(shape, type)) problems.push_back(problem);
  }
  return problems;
}

// The line that KernelChoices::Encode writes for one problem.
std::string Line(const GemmProblem& problem, const GemmChoice& choice) {
  KernelChoices one;
  one.Set(problem, choice);
  std::string line = one.Encode();
  while (line.ends_with('\n')) line.pop_back();
  return line;
}

// Adds the measured choices to `choices`; returns the lines that are new or different.
std::vector<std::string> Merge(const std::vector<GemmProblem>& problems,
                               const KernelChoices& measured, KernelChoices& choices) {
  std::vector<std::string> changes;
  for (const GemmProblem& problem : problems) {
    const GemmChoice choice = measured.Of(problem);
    if (choices.Of(problem) == choice) continue;
    choices.Set(problem, choice);
    changes.push_back(Line(problem, choice));
  }
  return changes;
}

Status RunTune(const TuneFlags& flags) {
  const ModelOptions options = MakeModelOptions(flags.model);
  if (options.device.on) {
    return InvalidArgument(
        "--device gpu: tune works only for the matrix products of a CPU (--device cpu); those of a "
        "GPU are timed when a run with deterministic: false starts");
  }
  const Isa isa = ResolveIsa(options.isa);
  UseCores(options.threads);
  const std::vector<GemmProblem> problems = ProblemsOfModel(options);
  KernelChoices choices = ReadTunedChoices(isa, options.threads);
  const std::vector<std::string> changes =
      Merge(problems, KernelChoices::Tune(problems, isa, options.threads), choices);
  if (!flags.dry_run && !changes.empty()) WriteTunedChoices(choices, isa, options.threads);
  const std::string path = TunedChoicesPath(isa, options.threads);
  if (flags.model.json()) {
    Json report = MakeDocument("Tuning");
    report.update({{"file", path},
                   {"written", !flags.dry_run && !changes.empty()},
                   {"problems", problems.size()},
                   {"changes", changes}});
    PrintJson(report);
    return OkStatus();
  }
  for (const std::string& change : changes) fmt::print("{}\n", change);
  fmt::print("{} of {} products changed; {} {}\n", changes.size(), problems.size(),
             flags.dry_run || changes.empty() ? "not written:" : "written to", path);
  return OkStatus();
}

}  // namespace

BenchRun AddTuneCommand(const Command& app) {
  auto flags = std::make_shared<TuneFlags>();
  AddModelFlags(app, flags->model);
  app.Option("--isa", flags->model.isa, "kernels: auto, generic, avx2, avx512, avx512_bf16, amx")
      .ShowDefault();
  app.Switch("--dry-run", flags->dry_run, "measure and print, write nothing");
  return [flags] { return RunTune(*flags); };
}

}  // namespace gp::engine
