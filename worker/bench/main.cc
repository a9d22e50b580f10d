// gp-bench and gp-bench-cuda: measure the engine on this machine. The second has a device backend,
// and --device gpu is its default.
#include "worker/bench/bench_program.h"

int main(int argc, char** argv) {
  using namespace gp::engine;
  return RunBenchProgram(
      {.name = GP_PROGRAM,
       .version = GP_VERSION,
       .default_device = GP_DEFAULT_DEVICE,
       .commands = {{"step", "time a training step", AddStepCommand},
                    {"kernels", "time each operation at a model's shapes", AddKernelsCommand},
                    {"loader", "time the reading of batches from token shards", AddLoaderCommand},
                    {"ladder", "measure each optimisation, from a plain model to the full engine",
                     AddLadderCommand},
                    {"tune", "choose the fastest matrix products and remember them for runs",
                     AddTuneCommand},
                    {"plan", "print the memory of a model tensor by tensor", AddPlanCommand}}},
      argc, argv);
}
