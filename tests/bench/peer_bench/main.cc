// gp-peer-bench and gp-peer-bench-cuda: the commands of gp-bench and those that need a source tree:
// comparisons with other programs (tests/bench/peers), and servers under load.
#include "bench/peer_bench/peer_command.h"
#include "worker/bench/bench_program.h"

int main(int argc, char** argv) {
  using namespace gp::engine;
  return RunBenchProgram(
      {.name = GP_PROGRAM,
       .version = GP_VERSION,
       .default_device = GP_DEFAULT_DEVICE,
       .commands =
           {{"step", "time a training step, alone or beside a peer", AddPeeredStepCommand},
            {"kernels", "time each operation at a model's shapes", AddKernelsCommand},
            {"gradients", "compare all gradients with the reference engine's", AddGradientsCommand},
            {"tokenizer", "time the encoding of a text, alone or beside tiktoken",
             AddTokenizerCommand},
            {"allreduce", "time the gradient all-reduce between processes", AddAllReduceCommand},
            {"sample", "time the writing of text, alone or beside Hugging Face", AddSampleCommand},
            {"serve", "time texts through the gateway, alone or beside llama.cpp", AddServeCommand},
            {"loader", "time the reading of batches from token shards", AddLoaderCommand},
            {"ladder", "measure each optimisation, from a plain model to the full engine",
             AddLadderCommand},
            {"tune", "choose the fastest matrix products and remember them for runs",
             AddTuneCommand},
            {"plan", "print the memory of a model tensor by tensor", AddPlanCommand}}},
      argc, argv);
}
