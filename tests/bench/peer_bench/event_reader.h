// EventReader: cuts the body of an event stream (text/event-stream) into its events, however the
// network cut it into pieces. One thread calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gp::engine {

class EventReader {
 public:
  // The data of the events that `piece` completed, in order. Skips comments, and lines of fields
  // other than data.
  std::vector<std::string> Feed(std::string_view piece);

 private:
  void HandleLine(std::string_view line, std::vector<std::string>& events);

  std::string unfinished_;  // a line without its end
  std::string data_;        // data of the event that is being read
  bool has_data_ = false;
};

}  // namespace gp::engine
