// The text that `gpctl demo` trains on, and how much of a sample is made of its words. Functions;
// thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gp::gpctl {

// Where to look for the demo's text: the folder of the Debian package jargon-text, .deps of a build
// tree, share/gp beside the programs.
std::vector<std::string> DemoTextPlaces(const std::string& program_directory);

// The first of `candidates` that exists. NotFound explains how to get a text.
StatusOr<std::string> FindDemoText(const std::vector<std::string>& candidates);

// The whole file, unpacked when it is packed. NotFound when it does not exist, InvalidArgument when
// it has less than 20,000 bytes or is damaged.
StatusOr<std::string> ReadDemoText(const std::string& path);

struct WordShare {
  size_t words = 0;
  size_t known = 0;  // how many of them also occur in the text
  double share() const {
    return words == 0 ? 0.0 : static_cast<double>(known) / static_cast<double>(words);
  }
};

// Words are runs of ASCII letters and apostrophes, compared without case. The last word of the
// sample is left out when it may have been cut.
WordShare CountKnownWords(std::string_view sample, std::string_view text);

}  // namespace gp::gpctl
