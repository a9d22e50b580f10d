#include "client/gpctl/data/editor_schema.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"

namespace gp::gpctl {
namespace {

constexpr const char* kPlaces[] = {"../share/gp/configs/schemas/run-file.json",
                                   "../../../configs/schemas/run-file.json"};

}  // namespace

std::string EditorSchemaLine(const std::string& program_directory) {
  for (const char* place : kPlaces) {
    const std::filesystem::path path = JoinPath(program_directory, place);
    const std::string named = path.lexically_normal().string();
    const bool has_blanks = named.find_first_of(" \t\n") != std::string::npos;
    if (!has_blanks && FileExists(named)) {
      return fmt::format("# yaml-language-server: $schema={}\n", named);
    }
  }
  return "";
}

}  // namespace gp::gpctl
