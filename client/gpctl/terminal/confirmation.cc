#include "client/gpctl/terminal/confirmation.h"

namespace gp::gpctl {

bool Confirmed(const std::string& question, const Console& console) {
  if (!console.in_is_terminal) return false;
  console.err << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(console.in, answer);
  return answer == "y" || answer == "yes";
}

}  // namespace gp::gpctl
