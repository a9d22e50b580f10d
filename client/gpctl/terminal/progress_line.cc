#include "client/gpctl/terminal/progress_line.h"

#include <chrono>

#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

constexpr std::chrono::nanoseconds kDrawingInterval = std::chrono::milliseconds(250);
constexpr std::chrono::nanoseconds kMessageInterval = std::chrono::seconds(10);

}  // namespace

ProgressLine::ProgressLine(Console& console)
    : console_(console),
      animated_(console.Animated()),
      block_(console.out),
      started_(console.clock.Now()),
      next_(animated_ ? started_ : started_ + kMessageInterval) {}

void ProgressLine::Tell(const std::string& line) {
  const MonotonicTime now = console_.clock.Now();
  if (now < next_) return;
  next_ = now + (animated_ ? kDrawingInterval : kMessageInterval);
  if (animated_) {
    block_.Draw(CutToWidth(line, console_.Size().columns, console_.Utf8()) + "\n");
  } else {
    console_.err << line << std::endl;
  }
}

void ProgressLine::Clear() {
  if (animated_) block_.Draw("");
}

double ProgressLine::Seconds() const {
  return std::chrono::duration<double>(console_.clock.Now() - started_).count();
}

}  // namespace gp::gpctl
