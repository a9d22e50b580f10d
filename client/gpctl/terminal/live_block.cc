#include "client/gpctl/terminal/live_block.h"

#include <algorithm>

namespace gp::gpctl {

void LiveBlock::Erase() {
  const auto lines = std::count(drawn_.begin(), drawn_.end(), '\n');
  // Move to the first line of the block (ECMA-48 CPL) and clear everything below (ED).
  if (lines > 0) out_ << "\x1b[" << lines << "F\x1b[J";
}

void LiveBlock::Draw(const std::string& lines) {
  Erase();
  drawn_ = lines;
  out_ << drawn_ << std::flush;
}

void LiveBlock::PrintAbove(const std::string& text) {
  Erase();
  out_ << text << drawn_ << std::flush;
}

}  // namespace gp::gpctl
