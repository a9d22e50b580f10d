// Runs a bench program for its tests.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace gp::engine {

struct Outcome {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};

// `program`: path relative to $GP_BIN.
inline Outcome RunProgram(const std::string& program, const std::string& arguments) {
  const std::string command =
      std::string(std::getenv("GP_BIN")) + "/" + program + " 2>&1 " + arguments;
  FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome;
  char chunk[4096];
  while (const size_t count = fread(chunk, 1, sizeof(chunk), pipe))
    outcome.output.append(chunk, count);
  outcome.exit_code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

}  // namespace gp::engine
