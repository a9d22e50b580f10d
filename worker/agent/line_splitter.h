// LineSplitter: cuts what a trainer prints into lines of bounded length. Owned by one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gp::agent {

class LineSplitter {
 public:
  explicit LineSplitter(size_t length_max) : length_max_(length_max) {}

  // The lines that `bytes` completes, without line ends. A line longer than `length_max` is cut,
  // and its end says how many bytes were cut; bytes that are not valid UTF-8 become '?', because
  // the wire carries text.
  std::vector<std::string> Add(std::string_view bytes);

  // The unfinished last line, if any; the splitter is then empty.
  std::vector<std::string> Flush();

 private:
  std::string TakeLine();

  const size_t length_max_;
  std::string line_;
  size_t cut_bytes_ = 0;
};

}  // namespace gp::agent
