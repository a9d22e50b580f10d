#include "integration/typed_gpctl.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace gp::testing {

TypedOutcome TypeGpctl(const Cluster& cluster, const std::string& command,
                       const std::vector<std::string>& environment) {
  const char* programs = std::getenv("GP_BIN");
  std::cout << "$ gpctl " << command << "\n";
  const std::string line = fmt::format(
      "HOME={} GPCTL_SERVER={} {} {}/gpctl {} 2>&1", cluster.directory(), cluster.address(),
      fmt::join(environment, " "), programs == nullptr ? "." : programs, command);
  TypedOutcome outcome;
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  while (const size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.output.append(buffer.data(), got);
  }
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::cout << outcome.output;
  if (outcome.code != 0) std::cout << "(exit code " << outcome.code << ")\n";
  return outcome;
}

}  // namespace gp::testing
