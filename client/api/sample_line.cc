#include "client/api/sample_line.h"

#include <charconv>
#include <string_view>

namespace gp::client {
namespace {

// Reverses the quoting of base/log.h (\" \\ and \n). `quoted` begins after the opening quote.
std::string Unquoted(std::string_view quoted) {
  std::string text;
  for (size_t i = 0; i < quoted.size() && quoted[i] != '"'; ++i) {
    if (quoted[i] == '\\' && i + 1 < quoted.size()) {
      ++i;
      text += quoted[i] == 'n' ? '\n' : quoted[i];
    } else {
      text += quoted[i];
    }
  }
  return text;
}

}  // namespace

std::optional<Sample> ParseSampleLine(const std::string& line) {
  static constexpr std::string_view kStep = "sample step=";
  static constexpr std::string_view kText = " text=";
  const size_t step_at = line.find(kStep);
  const size_t text_at = step_at == std::string::npos ? step_at : line.find(kText, step_at);
  if (text_at == std::string::npos) return std::nullopt;
  Sample sample;
  const char* begin = line.data() + step_at + kStep.size();
  if (std::from_chars(begin, line.data() + text_at, sample.step).ec != std::errc())
    return std::nullopt;
  const std::string_view value = std::string_view(line).substr(text_at + kText.size());
  sample.text = value.starts_with('"') ? Unquoted(value.substr(1)) : std::string(value);
  return sample;
}

}  // namespace gp::client
