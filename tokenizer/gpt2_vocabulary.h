// Finds GPT-2's vocab.bpe on this machine. Reads the environment and files; any thread may call.
#pragma once

#include <string>

#include "base/status.h"

namespace gp {

// The text of vocab.bpe, its digest verified. NotFound lists the places that were searched;
// DataLoss names a file that is another one.
StatusOr<std::string> ReadGpt2Vocabulary();

}  // namespace gp
