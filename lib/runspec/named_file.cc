#include "runspec/named_file.h"

#include <variant>

#include "runspec/initial_model.h"
#include "runspec/schema.h"

namespace gp::runspec {

std::vector<NamedFile> FilesNamedBy(const RunSpec& spec) {
  std::vector<NamedFile> files;
  if (spec.init_from != kFromScratch) files.push_back({"init_from", spec.init_from});
  RunSpec copy = spec;
  for (const RunField& field : Schema()) {
    if (!field.is_path) continue;
    const Slot slot = field.slot(copy);
    if (auto* const* path = std::get_if<std::string*>(&slot)) {
      if (NamesFile(field, **path)) files.push_back({field.path, **path});
      continue;
    }
    for (const std::string& path : *std::get<std::vector<std::string>*>(slot)) {
      files.push_back({field.path, path});
    }
  }
  return files;
}

}  // namespace gp::runspec
