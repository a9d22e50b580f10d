#include "client/gpctl/gpctl_runner.h"

#include <filesystem>
#include <sstream>

#include "client/gpctl/gpctl.h"

namespace gp::testing {
namespace {

// Collects output and requests the interruption once the expected text appears. Written by one
// thread.
class WatchedBuffer : public std::stringbuf {
 public:
  WatchedBuffer(std::string awaited, client::Interruption& interruption)
      : awaited_(std::move(awaited)), interruption_(interruption) {}

 protected:
  int sync() override {
    if (!awaited_.empty() && str().find(awaited_) != std::string::npos) interruption_.Request();
    return 0;
  }

 private:
  const std::string awaited_;
  client::Interruption& interruption_;
};

}  // namespace

GpctlRunner::GpctlRunner() {
  std::string pattern = (std::filesystem::temp_directory_path() / "gpctl-test-XXXXXX").string();
  home_ = mkdtemp(pattern.data());
  environment = {{"HOME", home_}, {"LANG", "C.UTF-8"}, {"TERM", "xterm"}};
}

GpctlRunner::~GpctlRunner() { std::filesystem::remove_all(home_); }

Outcome GpctlRunner::Run(const std::vector<std::string>& arguments) {
  client::Interruption interruption;
  WatchedBuffer buffer(interrupt_when_out_contains, interruption);
  std::istringstream in(input);
  std::ostream out(&buffer);
  std::ostringstream err;
  gpctl::Console console{.in = in,
                         .out = out,
                         .err = err,
                         .interruption = interruption,
                         .clock = SystemClock(),
                         .environment = environment,
                         .program_directory = home_,
                         .working_directory = home_,
                         .in_is_terminal = typing,
                         .out_is_terminal = terminal};
  if (output_error != 0) {
    out.rdbuf(nullptr);  // sets badbit at each write
    console.output_error = [this] { return output_error; };
  }
  const int code = gpctl::RunGpctl(arguments, console);
  return {code, buffer.str(), err.str()};
}

}  // namespace gp::testing
