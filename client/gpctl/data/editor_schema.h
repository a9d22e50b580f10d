// The line by which editors find the schema of a run file (yaml-language-server). Reads the file
// system; thread-safe.
#pragma once

#include <string>

namespace gp::gpctl {

// "# yaml-language-server: $schema=/usr/share/gp/configs/schemas/run-file.json\n" with the schema
// of an installation or of a build tree; empty if `program_directory` is in neither, or if blanks
// in the path would end it.
std::string EditorSchemaLine(const std::string& program_directory);

}  // namespace gp::gpctl
