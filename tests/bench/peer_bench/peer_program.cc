#include "bench/peer_bench/peer_program.h"

#include <filesystem>

namespace gp::engine {

std::optional<std::string> FindAboveProgram(const std::string& path) {
  std::error_code error;
  auto directory = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (; directory.has_relative_path(); directory = directory.parent_path()) {
    if (std::filesystem::exists(directory / path, error)) return (directory / path).string();
  }
  return std::nullopt;
}

StatusOr<PeerProcess> StartPeer(const PeerProgram& program) {
  const auto script = FindAboveProgram("tests/bench/peers/" + program.script);
  if (!script.has_value()) {
    return NotFound(
        "tests/bench/peers/{} was not found above gp-peer-bench; run gp-peer-bench from a build "
        "inside the "
        "source tree",
        program.script);
  }
  std::string interpreter = program.interpreter;
  if (interpreter.empty()) {
    interpreter = FindAboveProgram(".deps/peers/bin/python").value_or("python3");
  }
  std::vector<std::string> command = {interpreter, *script};
  command.insert(command.end(), program.arguments.begin(), program.arguments.end());
  return PeerProcess::Start(command);
}

}  // namespace gp::engine
