// EventReader: puts server-sent events together from the pieces in which they arrive. Owned by the
// code that reads a stream.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::client {

class EventReader {
 public:
  static constexpr size_t kEventBytesMax = 4 << 20;

  // Calls `on_event` with the data of each event that `piece` completes, its lines joined by '\n'.
  // Skips comments and fields other than data. DataLoss when an event exceeds kEventBytesMax.
  Status Feed(std::string_view piece, const std::function<void(const std::string&)>& on_event);

 private:
  void HandleLine(std::string_view line, const std::function<void(const std::string&)>& on_event);

  std::string line_;  // the beginning of a line
  std::string data_;
  bool has_data_ = false;
};

}  // namespace gp::client
