// Confine: removes this process's access to everything that it does not need: other files, system
// calls, other programs. Called once, before the process starts a second thread and before it reads
// a file that somebody else named.
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

// Confines as far as this kernel can, and logs one line with the result. An error means that the
// kernel rejected a rule that it supports: the process must not continue.
Status Confine(const Permissions& permissions);

}  // namespace gp::confinement
