// The verbs of `gpctl data`. Each function adds one with its flags. Called once, by
// AddDataCommands.
#pragma once

#include "client/gpctl/command_set.h"

namespace gp::gpctl {

void AddTrainTokenizerVerb(CommandSet& commands, Command data);

}  // namespace gp::gpctl
