#include "client/gpctl/session/label_flag.h"

#include <map>

#include "base/text/excerpt.h"

namespace gp::gpctl {

StatusOr<std::vector<std::string>> LabelSettings(const std::vector<std::string>& labels) {
  std::vector<std::string> settings;
  std::map<std::string, std::string> values;  // by key
  for (const std::string& label : labels) {
    const size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidArgument("--label: expected KEY=VALUE, such as team=research, not '{}'",
                             Excerpt(label));
    }
    const std::string value = label.substr(equals + 1);
    const auto [known, is_new] = values.emplace(label.substr(0, equals), value);
    if (!is_new && known->second != value) {
      return InvalidArgument(
          "--label: a run has one value of '{}', but two were given: '{}' and '{}'",
          Excerpt(known->first), Excerpt(known->second), Excerpt(value));
    }
    if (is_new) settings.push_back("labels." + label);
  }
  return settings;
}

}  // namespace gp::gpctl
