// Confine: takes from this process what it does not need for its work: other files, system calls,
// other programs. Called once, before the process starts a second thread and before it reads a file
// that somebody else named.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace gp::confinement {

struct Permissions {
  std::vector<std::string> readable;  // directories and files, with everything below them
  std::vector<std::string> writable;
  bool gpus = false;
};

// The means of this machine to confine a process, in words; `missing` is empty when it has all.
struct Offer {
  std::string has;
  std::string missing;
};
Offer WhatConfines();

// Confines as far as this kernel can, and logs one line that says how far. Any error is one of a
// rule that the kernel has but did not take: the process must not go on.
Status Confine(const Permissions& permissions);

}  // namespace gp::confinement
