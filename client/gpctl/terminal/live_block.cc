#include "client/gpctl/terminal/live_block.h"

#include <algorithm>

namespace gp::gpctl {

void LiveBlock::Erase() {
  const auto lines = std::count(drawn_.begin(), drawn_.end(), '\n');
  // Up to the first line, then everything below goes: ECMA-48 CPL and ED.
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
