// Texts for tests, and helpers that read documents from them. Pure functions, except for Write.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "corpus/block_reader.h"
#include "corpus/document_splitter.h"
#include "corpus/source.h"

namespace gp::corpus {

// Writes a file without syncing it, because tests write many files.
inline std::string Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

inline Source OneSource(const std::string& path, TextForm form = TextForm::kText) {
  return ExpandSources({path}, form).value().front();
}

// A cut rule: a document may be cut before a space.
inline size_t CutAtSpace(std::string_view text, size_t begin) {
  const size_t space = text.find(' ', std::max<size_t>(begin, 1));
  return std::min(space, text.size());
}

// The documents of a source, with parts from several blocks joined again; or the error.
inline StatusOr<std::vector<std::string>> Documents(const Source& source,
                                                    const DocumentRules& rules = {},
                                                    const CutAfter& cut = CutAtSpace) {
  ASSIGN_OR_RETURN(BlockReader reader, BlockReader::Open(source, rules, cut));
  std::vector<std::string> documents;
  const auto take = [&documents](const DocumentPart& part) {
    if (part.begins) documents.emplace_back();
    documents.back() += part.text;
    return OkStatus();
  };
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<Block> block, reader.Next());
    if (!block.has_value()) return documents;
    RETURN_IF_ERROR(SplitBlock(*block, source, rules, take));
  }
}

}  // namespace gp::corpus
