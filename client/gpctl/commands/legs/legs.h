// The commands that let a run go on, changed: pause, resume, extend, restart, retry, fork, lineage.
#pragma once

#include "client/gpctl/commands/command_set.h"

namespace gp::gpctl {

void AddPauseCommands(CommandSet& commands);     // pause, resume
void AddContinueCommands(CommandSet& commands);  // extend, restart, retry
void AddForkCommand(CommandSet& commands);       // fork
void AddLineageCommand(CommandSet& commands);    // lineage

}  // namespace gp::gpctl
