// TextSources: the text that a command reads, as named by its arguments, with the flags that
// describe it.
#pragma once

#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/status.h"
#include "corpus/block.h"
#include "corpus/source.h"

namespace gp::gpctl {

struct TextSources {
  std::vector<std::string> arguments;
  std::string form;  // format of the text; empty: from the file names
  corpus::DocumentRules documents;
};

// SRC, --as, --text-field, --split-on and --skip-null. `sources` must outlive the command.
void AddTextSourceFlags(Command command, TextSources& sources);

// The files, in order; paths may be relative to `working_directory`. Errors as
// corpus::ExpandSources. Adds to `notes` what is left out of directories.
StatusOr<std::vector<corpus::Source>> ExpandTextSources(const TextSources& sources,
                                                        const std::string& working_directory,
                                                        std::vector<std::string>& notes);

}  // namespace gp::gpctl
