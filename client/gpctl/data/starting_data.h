// StartingData: what a new run file trains on: the files that --text of `gpctl init` names, and
// what they hold, which decides the key that reads them. Reads the disk; used by gpctl's main
// thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct StartingData {
  enum class Form {
    kText,       // of data.text
    kJsonLines,  // at least among text: of data.stream
    kTokens,     // of data.train
  };

  std::vector<std::string> files;  // absolute paths or patterns; empty: no text was found
  Form form = Form::kText;
  bool by_content = false;  // lines of JSON whose names do not say it: data.format has to
  // The tokenizer that lies beside tokens, as data.tokenizer names it; empty for text, and when no
  // tokenizer lies there.
  std::string tokenizer;
  // What lies beside `files` in the folder and is not trained on, in a sentence; empty: nothing.
  std::string left_out;
};

// The files that `texts` name: files, folders, patterns; without them the demo's text, where this
// machine has it. NotFound and InvalidArgument name what is not there, or holds nothing to train
// on.
StatusOr<StartingData> FindStartingData(const std::vector<std::string>& texts,
                                        const Session& session);

}  // namespace gp::gpctl
