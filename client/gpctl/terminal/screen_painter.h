// ScreenPainter: shows lines on a terminal and afterwards sends only the lines that have changed.
// Owned and used by one thread; nothing else may write to the terminal.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace gp::gpctl {

class ScreenPainter {
 public:
  explicit ScreenPainter(std::ostream& out) : out_(out) {}

  // Shows `rows` from the terminal's first row on, and nothing below them. REQUIRES: each fits into
  // the terminal's width, and all into its height.
  void Paint(const std::vector<std::string>& rows);

  // The terminal shows something else now, or has another size: the next Paint sends every row.
  void Forget() { known_ = false; }

 private:
  std::ostream& out_;
  std::vector<std::string> shown_;
  bool known_ = false;
};

}  // namespace gp::gpctl
