// SkippedSteps: the steps of a run that updated nothing, because the training diverged there, as
// ranges. Saved with every checkpoint as text: "37,120-131". A value; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gp::engine {

class SkippedSteps {
 public:
  // Nullopt when the text is not a list of ascending steps from 1 on.
  static std::optional<SkippedSteps> Parse(std::string_view text);
  std::string Text() const;

  // Adds the steps `first` to `last`. REQUIRES: 1 <= first <= last; `first` comes after all others.
  void Add(int64_t first, int64_t last);

  int64_t count() const;

  bool operator==(const SkippedSteps&) const = default;

 private:
  struct Range {
    int64_t first = 0;
    int64_t last = 0;

    bool operator==(const Range&) const = default;
  };

  std::vector<Range> ranges_;
};

}  // namespace gp::engine
