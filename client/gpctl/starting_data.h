// StartingData: what a new run file trains on: the files that --text of `gpctl init` names, and the
// key that reads them. Reads the disk; used by gpctl's main thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/gpctl/session.h"

namespace gp::gpctl {

struct StartingData {
  std::vector<std::string> files;  // absolute paths or patterns; empty: no text was found
  // There are lines of JSON among them, which data.stream reads and data.text does not.
  bool json_lines = false;
  bool by_content = false;  // data.format has to say so: the names do not
};

// The files that `text` names: a file, a folder, a pattern; without it the demo's text, where this
// machine has it. NotFound and InvalidArgument name what is not there.
StatusOr<StartingData> FindStartingData(const std::string& text, const Session& session);

}  // namespace gp::gpctl
