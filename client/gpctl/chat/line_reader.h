// LineReader: lines of an input that may wait forever, read on a thread of its own so that whoever
// wants them can be interrupted. One thread takes them.
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
  // A thread that waits for a line outlives this object: `in` lives as long as the process, or has
  // an end.
  explicit LineReader(std::istream& in);
  ~LineReader();

  // The next line; nothing when none came in `longest`, or at the end.
  std::optional<std::string> Next(std::chrono::nanoseconds longest);
  // Nothing more will come.
  bool AtEnd() const { return lines_->drained(); }

 private:
  std::shared_ptr<Mailbox<std::string>> lines_;
  std::future<void> finished_;
};

}  // namespace gp::gpctl
