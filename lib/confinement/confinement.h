// Confine: removes this process's access to everything that it does not need: other files, system
// calls, other programs. Called once by gp-trainer and gp-sampler, before the process starts a
// second thread and before it reads a file that somebody else named.
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

// Which kinds of confinement this machine supports, as text for people; `missing` is empty when it
// supports all of them.
struct Offer {
  std::string has;
  std::string missing;
};
Offer WhatConfines();

// Confines as far as this kernel can, and logs one line with the result: a kernel without Landlock
// or seccomp is a warning, not an error. An error means that the kernel rejected a rule that it
// supports: the process must not continue.
Status Confine(const Permissions& permissions);

}  // namespace gp::confinement
