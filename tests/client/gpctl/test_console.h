// TestConsole: a Console without a terminal, whose input and output are strings. Belongs to one
// test.
#pragma once

#include <sstream>

#include "client/gpctl/terminal/console.h"

namespace gp::testing {

struct TestConsole {
  TestConsole() = default;
  TestConsole(const TestConsole&) = delete;
  TestConsole& operator=(const TestConsole&) = delete;

  std::istringstream in;
  std::ostringstream out, err;
  client::Interruption interruption;
  gpctl::Console console{
      .in = in, .out = out, .err = err, .interruption = interruption, .clock = SystemClock()};
};

}  // namespace gp::testing
