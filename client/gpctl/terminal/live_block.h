// LiveBlock: the last lines of a terminal, redrawn in place. Owned and used by one thread; nothing
// else may write to the terminal while a block is shown.
#pragma once

#include <ostream>
#include <string>

namespace gp::gpctl {

class LiveBlock {
 public:
  explicit LiveBlock(std::ostream& out) : out_(out) {}

  // Replaces the previous content. REQUIRES: each line ends in '\n' and fits into the terminal's
  // width.
  void Draw(const std::string& lines);

  // Puts text that stays above the block.
  void PrintAbove(const std::string& text);

 private:
  void Erase();

  std::ostream& out_;
  std::string drawn_;
};

}  // namespace gp::gpctl
