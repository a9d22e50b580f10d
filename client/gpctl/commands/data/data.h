// The verbs of `gpctl data`. Each function adds some with their flags. Called once, by
// AddDataCommands.
#pragma once

#include "client/gpctl/commands/command_set.h"

namespace gp::gpctl {

void AddTrainTokenizerVerb(CommandSet& commands, Command data);
void AddPrepareVerb(CommandSet& commands, Command data);
void AddDatasetVerbs(CommandSet& commands, Command data);  // inspect, verify
void AddGenerateVerb(CommandSet& commands, Command data);

}  // namespace gp::gpctl
