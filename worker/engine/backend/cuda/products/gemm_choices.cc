#include "worker/engine/backend/cuda/products/gemm_choices.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace gp::engine {
namespace {

// Format 1 had no version mark. Its choices were timed with less workspace and without epilogues,
// so they are not used.
constexpr std::string_view kFormat = "2|";

bool IsHexadecimal(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

GemmChoices GemmChoices::Parse(const std::string& text) {
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument("the choices of matrix products '" + text.substr(0, 60) + "' " +
                                what + "; delete the file or the record they come from");
  };
  const size_t bar = text.find('|');
  if (bar == std::string::npos) refuse("name no device");
  GemmChoices choices(text.substr(0, bar));
  const size_t begin = bar + 1;
  if (!std::string_view(text).substr(begin).starts_with(kFormat)) return choices;
  for (size_t first = begin + kFormat.size(); first < text.size();) {
    const size_t end = std::min(text.find(';', first), text.size());
    const size_t equals = text.find('=', first);
    if (equals == std::string::npos || equals >= end || equals == first) refuse("are damaged");
    const std::string algorithm = text.substr(equals + 1, end - equals - 1);
    if (!IsHexadecimal(algorithm)) refuse("are damaged");
    choices.Set(text.substr(first, equals - first), algorithm);
    first = end + 1;
  }
  return choices;
}

std::string GemmChoices::Encode() const {
  std::string text = device_ + "|" + std::string(kFormat);
  for (const auto& [kind, algorithm] : algorithms_) text += kind + "=" + algorithm + ";";
  return text;
}

}  // namespace gp::engine
