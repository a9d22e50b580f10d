#include "client/gpctl/terminal/line_reader.h"

#include <thread>
#include <utility>

namespace gp::gpctl {
namespace {

// How many lines are read ahead of the chat.
constexpr size_t kLinesMax = 64;
// How long the destructor waits for the thread, so that the owner of a finite input may destroy the
// input.
constexpr std::chrono::milliseconds kLeaveGrace{100};

void ReadLines(std::istream& in, const std::shared_ptr<Mailbox<std::string>>& lines) {
  for (std::string line; std::getline(in, line);) {
    while (!lines->Post(line, std::chrono::hours(1))) {
      if (lines->closed()) return;
    }
  }
  lines->Close();
}

}  // namespace

LineReader::LineReader(std::istream& in)
    : lines_(std::make_shared<Mailbox<std::string>>(kLinesMax)) {
  std::promise<void> finished;
  finished_ = finished.get_future();
  std::thread([&in, lines = lines_, done = std::move(finished)]() mutable {
    ReadLines(in, lines);
    done.set_value();
  }).detach();
}

LineReader::~LineReader() {
  lines_->Close();
  finished_.wait_for(kLeaveGrace);
}

std::optional<std::string> LineReader::Next(std::chrono::nanoseconds longest) {
  return lines_->Receive(longest);
}

}  // namespace gp::gpctl
