#include "client/api/event_reader.h"

namespace gp::client {

Status EventReader::Feed(std::string_view piece,
                         const std::function<void(const std::string&)>& on_event) {
  while (!piece.empty()) {
    const size_t end = piece.find('\n');
    line_ += piece.substr(0, end);
    if (line_.size() + data_.size() > kEventBytesMax) {
      return DataLoss("an event of the stream is larger than {} bytes", kEventBytesMax);
    }
    if (end == std::string_view::npos) break;
    piece.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    HandleLine(line_, on_event);
    line_.clear();
  }
  return OkStatus();
}

void EventReader::HandleLine(std::string_view line,
                             const std::function<void(const std::string&)>& on_event) {
  constexpr std::string_view kData = "data:";
  if (line.empty()) {
    if (has_data_) on_event(data_);
    data_.clear();
    has_data_ = false;
    return;
  }
  if (!line.starts_with(kData)) return;
  line.remove_prefix(kData.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (has_data_) data_ += '\n';
  data_ += line;
  has_data_ = true;
}

}  // namespace gp::client
