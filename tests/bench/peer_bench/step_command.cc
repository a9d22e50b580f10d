// `gp-peer-bench step`: measures our step, alone or in blocks that alternate with a peer's, and
// reports both.
#include "worker/bench/step_command.h"

#include <map>
#include <memory>
#include <utility>

#include "bench/peer_bench/peer_command.h"
#include "bench/peer_bench/peer_program.h"
#include "worker/bench/model_flags.h"

namespace gp::engine {
namespace {

struct PeerFlags {
  StepPeer step;
  std::string python;
  std::string llmc;
};

struct PeerScript {
  const char* script;
  std::vector<std::string> arguments;
};

const std::map<std::string, PeerScript>& PeerScripts() {
  static const std::map<std::string, PeerScript> scripts = {
      {"torch", {"torch_step.py", {}}},
      {"torch-compile", {"torch_step.py", {"--compile"}}},
      {"hf", {"hf_step.py", {}}},
      {"llmc", {"llmc_step.py", {}}}};
  return scripts;
}

PeerProgram MakePeerProgram(const PeerFlags& flags, const ModelOptions& options) {
  const PeerScript& peer = PeerScripts().at(flags.step.name);
  PeerProgram program{peer.script, flags.python, peer.arguments};
  for (const std::string& argument : PeerArguments(options)) program.arguments.push_back(argument);
  if (!flags.llmc.empty()) program.arguments.push_back("--llmc=" + flags.llmc);
  return program;
}

StatusOr<std::unique_ptr<Peer>> StartStepPeer(const PeerFlags& flags, const ModelOptions& options) {
  if (options.device.on && flags.step.name == "hf") {
    return FailedPrecondition("--peer hf runs on a CPU; use --device cpu, or --peer torch");
  }
  ASSIGN_OR_RETURN(PeerProcess started, StartPeer(MakePeerProgram(flags, options)));
  return std::make_unique<PeerProcess>(std::move(started));
}

}  // namespace

BenchRun AddPeeredStepCommand(const Command& app) {
  auto flags = std::make_shared<PeerFlags>();
  app.Option("--peer", flags->step.name, "also run this peer, in alternating blocks")
      .OneOf({"torch", "torch-compile", "hf", "llmc"});
  app.Option("--python", flags->python, "Python with the peer's packages");
  app.Option("--llmc", flags->llmc, "directory of llm.c's source, for --peer llmc")
      .Path()
      .ExistingDirectory();
  flags->step.start = [own = flags.get()](const ModelOptions& options) {
    return StartStepPeer(*own, options);
  };
  return AddStepCommandWithPeer(app, {flags, &flags->step});
}

}  // namespace gp::engine
