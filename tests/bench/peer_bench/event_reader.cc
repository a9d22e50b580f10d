#include "bench/peer_bench/event_reader.h"

#include <cstddef>
#include <utility>

namespace gp::engine {

std::vector<std::string> EventReader::Feed(std::string_view piece) {
  std::vector<std::string> events;
  unfinished_ += piece;
  size_t begin = 0;
  for (size_t end; (end = unfinished_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string_view line = std::string_view(unfinished_).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    HandleLine(line, events);
  }
  unfinished_.erase(0, begin);
  return events;
}

void EventReader::HandleLine(std::string_view line, std::vector<std::string>& events) {
  if (line.empty()) {
    if (has_data_) events.push_back(std::exchange(data_, {}));
    has_data_ = false;
    return;
  }
  constexpr std::string_view kField = "data:";
  if (!line.starts_with(kField)) return;
  line.remove_prefix(kField.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (has_data_) data_ += '\n';
  data_ += line;
  has_data_ = true;
}

}  // namespace gp::engine
