// docs/run-file.md, written from the schema. Pure function; thread-safe.
#pragma once

#include <string>

namespace gp::runspec {

// The whole page, Markdown.
std::string ReferencePage();

}  // namespace gp::runspec
