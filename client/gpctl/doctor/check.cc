#include "client/gpctl/doctor/check.h"

#include <fmt/format.h>

namespace gp::gpctl {

std::string GradeName(Grade grade) {
  switch (grade) {
    case Grade::kOk:
      return "ok";
    case Grade::kWarning:
      return "warn";
    case Grade::kFail:
      break;
  }
  return "FAIL";
}

std::string CheckText(const std::vector<Check>& checks) {
  std::string out;
  for (const Check& check : checks) {
    out += fmt::format("{:<5} {:<16}{}", GradeName(check.grade), check.subject, check.finding);
    if (!check.fix.empty()) out += "   -> " + check.fix;
    out += "\n";
  }
  return out;
}

}  // namespace gp::gpctl
