// gpctl ckpt pin, unpin, prune, get.
#pragma once

#include "client/gpctl/commands/command_set.h"

namespace gp::gpctl {

// Adds the verbs to the command "ckpt".
void AddKeepingVerbs(Command noun, CommandSet& commands);

}  // namespace gp::gpctl
