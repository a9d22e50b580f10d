// ProgressLine: how far a long command is. A terminal shows one line, which is redrawn in place.
// Elsewhere a line goes to the messages every ten seconds, so that results stay clean. Owned and
// used by one thread; nothing else may write to the terminal until Clear.
#pragma once

#include <string>

#include "client/gpctl/terminal/console.h"
#include "client/gpctl/terminal/live_block.h"

namespace gp::gpctl {

class ProgressLine {
 public:
  // The console must outlive this object. The time counts from here.
  explicit ProgressLine(Console& console);

  // Shows `line`, cut to the terminal's width, unless another was shown a moment ago. REQUIRES: no
  // '\n'.
  void Tell(const std::string& line);

  // Removes the line from the terminal. Results may be printed from now on.
  void Clear();

  // Since I was made.
  double Seconds() const;

 private:
  Console& console_;
  const bool animated_;
  LiveBlock block_;
  const MonotonicTime started_;
  MonotonicTime next_;  // when a line may be shown again
};

}  // namespace gp::gpctl
