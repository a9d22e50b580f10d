// LineReader: reads lines of an input on its own thread, because reading may block forever and the
// caller must stay interruptible. One thread takes the lines.
#pragma once

#include <chrono>
#include <future>
#include <istream>
#include <memory>
#include <optional>
#include <string>

#include "base/mailbox.h"

namespace gp::gpctl {

class LineReader {
 public:
  // The reading thread may outlive this object, because a blocked read cannot be ended. So `in`
  // must exist until it has ended, or as long as the process. At most 64 lines are read ahead.
  explicit LineReader(std::istream& in);
  ~LineReader();

  // The next line; nullopt when none came within `longest`, or at the end.
  std::optional<std::string> Next(std::chrono::nanoseconds longest);
  // True when no more lines will come.
  bool AtEnd() const { return lines_->drained(); }

 private:
  std::shared_ptr<Mailbox<std::string>> lines_;
  std::future<void> finished_;
};

}  // namespace gp::gpctl
