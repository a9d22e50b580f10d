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
    kText,       // for data.text
    kJsonLines,  // at least some files are lines of JSON: for data.stream
    kTokens,     // for data.train
  };

  std::vector<std::string> files;  // absolute paths or patterns; empty: no text was found
  Form form = Form::kText;
  bool by_content = false;  // lines of JSON in files with other names: data.format must be set
  // The tokenizer beside the tokens, as in data.tokenizer; empty for text, or if there is none.
  std::string tokenizer;
  // A sentence about files beside `files` that are not trained on; empty: none.
  std::string left_out;
};

// The files that `texts` name: files, folders, patterns; by default the demo's text, if installed.
// A single .gz file of text is unpacked into text/ of the state directory, because data.text reads
// plain files. NotFound and InvalidArgument name what is missing or holds nothing to train on.
StatusOr<StartingData> FindStartingData(const std::vector<std::string>& texts,
                                        const Session& session);

}  // namespace gp::gpctl
