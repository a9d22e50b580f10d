// gpctl data.
#include "client/gpctl/commands/data/data.h"

#include "client/gpctl/commands/commands.h"

namespace gp::gpctl {

void AddDataCommands(CommandSet& commands) {
  const Command data = commands.Add("data", kDataGroup, "Prepare training data and tokenizers");
  AddPrepareVerb(commands, data);
  AddDatasetVerbs(commands, data);
  AddTrainTokenizerVerb(commands, data);
  AddGenerateVerb(commands, data);
}

}  // namespace gp::gpctl
