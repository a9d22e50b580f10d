// Check: one line of `gpctl doctor`. Values and pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

namespace gp::gpctl {

enum class Grade { kOk, kWarning, kFail };

struct Check {
  Grade grade = Grade::kOk;
  std::string subject;  // "memory"
  std::string finding;
  std::string fix;  // what to do; empty when ok
};

// "ok    memory       23.4 GiB, 18.0 GiB free"
std::string CheckText(const std::vector<Check>& checks);

std::string GradeName(Grade grade);  // "ok", "warn", "FAIL"

}  // namespace gp::gpctl
