// VersionedArithmetic: the name under which a checkpoint records a way to compute, with the version
// of its arithmetic from 2 on: "avx512@2", "muon@2". A program that does not know versions takes
// this for an unknown name and refuses it (docs/formats/versions.md). Values; thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace gp::formats {

struct VersionedArithmetic {
  std::string name;
  int64_t version = 1;
};

std::string Text(const VersionedArithmetic& arithmetic);

// A text without a version that Text would write is a name as a whole.
VersionedArithmetic ParseVersionedArithmetic(const std::string& text);

}  // namespace gp::formats
