#include "client/gpctl/terminal/screen_painter.h"

#include <fmt/format.h>

namespace gp::gpctl {

void ScreenPainter::Paint(const std::vector<std::string>& rows) {
  std::string bytes;
  if (!known_) {
    shown_.clear();
    bytes += "\x1b[0m\x1b[H\x1b[J";  // SGR, CUP, ED of ECMA-48
  }
  for (size_t row = 0; row < rows.size(); ++row) {
    const bool shown = row < shown_.size();
    if (shown ? shown_[row] == rows[row] : known_ && rows[row].empty()) continue;
    // CUP, EL. The row is erased before it is written: after its last column the cursor stays there
    // (no automatic line breaks), so that erasing to the end would remove its last character.
    bytes += fmt::format("\x1b[{};1H\x1b[2K{}", row + 1, rows[row]);
  }
  for (size_t row = rows.size(); row < shown_.size(); ++row) {
    if (!shown_[row].empty()) bytes += fmt::format("\x1b[{};1H\x1b[2K", row + 1);
  }
  shown_ = rows;
  known_ = true;
  if (!bytes.empty()) out_ << bytes << std::flush;
}

}  // namespace gp::gpctl
