// GpctlRunner: runs gpctl in this process with its own home. Used by one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gp::testing {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

class GpctlRunner {
 public:
  GpctlRunner();
  ~GpctlRunner();

  Outcome Run(const std::vector<std::string>& arguments);

  const std::string& home() const { return home_; }

  std::map<std::string, std::string> environment;
  std::string input;
  bool terminal = false;
  bool typing = false;  // the input is a terminal, too
  // Presses Ctrl-C once this appears in the output.
  std::string interrupt_when_out_contains;
  int output_error = 0;  // errno of every write to the output; 0: writes succeed

 private:
  std::string home_;
};

}  // namespace gp::testing
