// gp-bench: measures the engine on this machine. Exit codes: 0 done, 1 failed, 2 usage.
#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <thread>

#include "worker/engine/bench/plan_command.h"
#include "worker/engine/bench/step_command.h"

namespace gp::engine {
namespace {

// What both commands take.
struct ModelFlags {
  std::string model = "124M";
  int64_t batch = 4;
  int64_t sequence = 0;  // 0: the model's context
  std::string precision = "fp32";
  int threads = 0;  // 0: one per core
  std::string output = "text";
};

void AddModelFlags(CLI::App& app, ModelFlags& flags) {
  app.add_option("--model", flags.model, "size of the model")
      ->check(CLI::IsMember(runspec::ModelNames()))
      ->capture_default_str();
  app.add_option("--batch", flags.batch, "sequences of a micro-batch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--sequence", flags.sequence,
                 "tokens of a sequence (default: the model's context)")
      ->check(CLI::PositiveNumber);
  app.add_option("--precision", flags.precision)
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "threads (default: one per core)")
      ->check(CLI::Range(1, 1024));
  app.add_option("-o,--output", flags.output)
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

// Cores this process may use.
int AvailableCores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::max(CPU_COUNT(&cores), 1);
}

// Keeps this process and its children on the first `count` of its cores, so that a peer has what we
// have.
void UseCores(int count) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t used;
  CPU_ZERO(&used);
  for (int core = 0; core < CPU_SETSIZE && count > 0; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    CPU_SET(core, &used);
    --count;
  }
  sched_setaffinity(0, sizeof(used), &used);
}

ModelOptions MakeModelOptions(const ModelFlags& flags) {
  ModelOptions options;
  options.shape = *runspec::NamedModelShape(flags.model);
  options.micro_batch = flags.batch;
  options.sequence = flags.sequence > 0 ? flags.sequence : options.shape.context;
  options.threads = flags.threads > 0 ? flags.threads : AvailableCores();
  if (flags.precision == "bf16") options.precision = runspec::Precision::kBf16;
  return options;
}

void AddStepCommand(CLI::App& app, ModelFlags& flags, StepCommand& command, std::string& isa,
                    std::string& engine) {
  CLI::App* step = app.add_subcommand("step", "time a training step, alone or beside a peer");
  AddModelFlags(*step, flags);
  step->add_option("--steps", command.steps, "measured steps of each side")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  step->add_option("--warmup", command.warmup_steps)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  step->add_option("--block", command.block_steps, "steps of one side before the other's turn")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  step->add_option("--isa", isa, "kernels: auto, generic, avx2, avx512, avx512_bf16")
      ->capture_default_str();
  step->add_option("--engine", engine)
      ->check(CLI::IsMember({"fused", "eager", "reference"}))
      ->capture_default_str();
  step->add_option("--peer", command.peer, "also run this peer, in alternating blocks")
      ->check(CLI::IsMember({"torch"}));
  step->add_option("--python", command.python, "Python with the peer's packages");
}

int Fail(const std::string& message, int code) {
  fmt::print(stderr, "gp-bench: {}\n", message);
  return code;
}

int RunStep(const ModelFlags& flags, StepCommand command, const std::string& isa,
            const std::string& engine) {
  static const std::map<std::string, runspec::EngineKind> kEngines = {
      {"fused", runspec::EngineKind::kFused},
      {"eager", runspec::EngineKind::kEager},
      {"reference", runspec::EngineKind::kReference}};
  command.model = flags.model;
  command.options = MakeModelOptions(flags);
  command.options.isa = ParseIsa(isa);
  command.options.kind = kEngines.at(engine);
  command.json = flags.output == "json";
  UseCores(command.options.threads);
  const Status status = RunStepCommand(command);
  return status.ok() ? 0 : Fail(Message(status), 1);
}

int RunPlan(const ModelFlags& flags) {
  const ModelOptions options = MakeModelOptions(flags);
  RunPlanCommand(options.shape,
                 {.micro_batch = options.micro_batch,
                  .sequence = options.sequence,
                  .bf16 = options.precision == runspec::Precision::kBf16,
                  .threads = options.threads},
                 flags.output == "json");
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Measures gp's training engine on this machine.", "gp-bench");
  app.set_version_flag("--version", "gp-bench " GP_VERSION);
  app.require_subcommand(1);
  ModelFlags step_flags;
  ModelFlags plan_flags;
  StepCommand command;
  std::string isa = "auto";
  std::string engine = "fused";
  AddStepCommand(app, step_flags, command, isa, engine);
  CLI::App* plan = app.add_subcommand("plan", "print the memory of a model tensor by tensor");
  AddModelFlags(*plan, plan_flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return plan->parsed() ? RunPlan(plan_flags) : RunStep(step_flags, command, isa, engine);
}

}  // namespace
}  // namespace gp::engine

int main(int argc, char** argv) {
  try {
    return gp::engine::Main(argc, argv);
  } catch (const std::invalid_argument& error) {
    return gp::engine::Fail(error.what(), 2);
  } catch (const std::exception& error) {
    return gp::engine::Fail(error.what(), 1);
  }
}
