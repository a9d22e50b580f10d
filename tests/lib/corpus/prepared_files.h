// Sources for tests of preparation, and how the tests compare the results.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "corpus/synthetic_text.h"
#include "lib/corpus/corpus_text.h"
#include "lib/formats/packed_text.h"

namespace gp::corpus {

using Files = std::map<std::string, std::string>;  // content by name

inline Files FilesOf(const std::string& directory) {
  Files files;
  const std::vector<std::string> names = ListDirectory(directory).value();
  for (const std::string& name : names) {
    files[name] = ReadFile(JoinPath(directory, name)).value();
  }
  return files;
}

// Writes three files of several blocks each, one of them compressed.
inline std::vector<Source> WriteCorpus(const std::string& directory) {
  SyntheticText text(11);
  std::vector<Source> sources;
  for (int i = 0; i < 3; ++i) {
    std::string file;
    while (file.size() < 3 * kBlockBytes) file += text.NextDocument() + "\n";
    const std::string path = JoinPath(directory, "source" + std::to_string(i) + ".txt");
    sources.push_back(OneSource(Write(path, i == 1 ? formats::Gzip(file) : file)));
  }
  return sources;
}

}  // namespace gp::corpus
