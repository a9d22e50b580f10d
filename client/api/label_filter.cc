#include "client/api/label_filter.h"

#include <string>

#include "base/text/excerpt.h"

namespace gp::client {
namespace {

// Splits `label` at `equals` and adds it to the list. Returns nullptr if the list now has this key
// and value, otherwise the different value that the key already has.
const std::string* Insert(std::string_view label, size_t equals, v1::ListRequest& list) {
  const std::string value(label.substr(equals + 1));
  const auto [other, added] =
      list.mutable_labels()->insert({std::string(label.substr(0, equals)), value});
  return added || other->second == value ? nullptr : &other->second;
}

}  // namespace

Status AddLabel(std::string_view label, v1::ListRequest& list) {
  const size_t first = label.find('=');
  if (first == std::string_view::npos || first == 0) {
    return InvalidArgument("expected KEY=VALUE, such as team=research, not '{}'", Excerpt(label));
  }
  const std::string* other = Insert(label, first, list);
  // A key may contain '='. In a=b=1 and a=c=2 the keys may be "a=b" and "a=c", so split the label
  // at its last '=' before reporting a conflict.
  if (other != nullptr && label.rfind('=') != first) {
    other = Insert(label, label.rfind('='), list);
  }
  if (other == nullptr) return OkStatus();
  const size_t equals = label.rfind('=');
  return InvalidArgument("a run has one value of '{}', but two were given: '{}' and '{}'",
                         Excerpt(label.substr(0, equals)), Excerpt(*other),
                         Excerpt(label.substr(equals + 1)));
}

}  // namespace gp::client
