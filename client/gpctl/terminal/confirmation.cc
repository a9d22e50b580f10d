#include "client/gpctl/terminal/confirmation.h"

#include <chrono>
#include <optional>

#include "client/gpctl/terminal/line_reader.h"

namespace gp::gpctl {

StatusOr<bool> Confirmed(const std::string& question, const Console& console) {
  constexpr std::chrono::milliseconds kInterruptionCheck{50};
  if (!console.in_is_terminal) return false;
  console.err << question << " [y/N] " << std::flush;
  LineReader reader(console.in);
  while (!console.interruption.requested()) {
    if (const auto answer = reader.Next(kInterruptionCheck)) {
      return *answer == "y" || *answer == "yes";
    }
    if (reader.AtEnd()) return false;
  }
  console.err << "\n";
  return Cancelled("interrupted");
}

}  // namespace gp::gpctl
