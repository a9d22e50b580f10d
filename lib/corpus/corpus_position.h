// CorpusPosition: a place between two blocks in a list of sources, and its form in JSON files. A
// value.
#pragma once

#include <cstddef>

#include "corpus/block.h"
#include "formats/json_object.h"

namespace gp::corpus {

struct CorpusPosition {
  // Index, from 0. It counts on over repeated passes: with 3 sources, 4 is the second source in the
  // second pass.
  size_t source = 0;
  BlockPosition block;

  bool operator==(const CorpusPosition&) const = default;
};

formats::JsonObject::Json CorpusPositionJson(const CorpusPosition& position);

// Reads the position from `fields`, whose status reports problems.
CorpusPosition ReadCorpusPosition(formats::JsonObject& fields);

}  // namespace gp::corpus
