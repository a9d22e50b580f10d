// gp-bench and gp-bench-cuda: measure the engine on this machine. The second has a device backend,
// and --device gpu is its default. Exit codes: 0 done, 1 failed, 2 usage.
#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "base/standard_output.h"
#include "worker/bench/bench_command.h"

namespace gp::engine {
namespace {

constexpr BenchCommand kCommands[] = {
    {"step", "time a training step, alone or beside a peer", AddStepCommand},
    {"kernels", "time each operation at a model's shapes", AddKernelsCommand},
    {"gradients", "compare all gradients with the reference engine's", AddGradientsCommand},
    {"tokenizer", "time the encoding of a text, alone or beside tiktoken", AddTokenizerCommand},
    {"allreduce", "time the gradient all-reduce between processes", AddAllReduceCommand},
    {"sample", "time the writing of text, alone or beside Hugging Face", AddSampleCommand},
    {"serve", "time texts through the gateway, alone or beside llama.cpp", AddServeCommand},
    {"loader", "time the reading of batches from token shards", AddLoaderCommand},
    {"ladder", "climb from a plain model to the engine at its best", AddLadderCommand},
    {"tune", "choose the fastest matrix products and remember them for runs", AddTuneCommand},
    {"plan", "print the memory of a model tensor by tensor", AddPlanCommand},
};

int Fail(const std::string& message, int code) {
  fmt::print(stderr, GP_PROGRAM ": {}\n", message);
  return code;
}

// Sets the default of --device for a command that has the flag.
void SetDefaultDevice(Command command) {
  if (const auto device = command.Find("--device")) device->Default(GP_DEFAULT_DEVICE);
}

int Main(int argc, char** argv) {
  const CommandLine line("Measures gp's training engine on this machine.", GP_PROGRAM);
  line.root().Version(GP_PROGRAM " " GP_VERSION);
  line.root().RequireOneCommand();
  std::map<std::string, BenchRun> runs;
  for (const BenchCommand& command : kCommands) {
    const Command added = line.root().AddCommand(command.name, command.summary);
    runs[command.name] = command.add(added);
    SetDefaultDevice(added);
  }
  if (const auto exit_code = line.Parse(argc, argv)) return *exit_code;
  const Status status = runs.at(line.Given())();
  if (status.ok()) return 0;
  return Fail(Message(status), status.code() == StatusCode::kInvalidArgument ? 2 : 1);
}

int RunAtEdge(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::invalid_argument& error) {
    return Fail(error.what(), 2);
  } catch (const std::exception& error) {
    // fmt::print throws when it cannot write; StandardOutput tells why.
    return std::ferror(stdout) != 0 ? 1 : Fail(error.what(), 1);
  }
}

}  // namespace
}  // namespace gp::engine

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  gp::StandardOutput output;
  return output.Finish(GP_PROGRAM, gp::engine::RunAtEdge(argc, argv));
}
