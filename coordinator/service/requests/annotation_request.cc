#include "coordinator/service/requests/annotation_request.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text/excerpt.h"
#include "base/text/safe_text.h"
#include "base/text/utf8.h"
#include "coordinator/state/annotation.h"

namespace gp::coordinator {
namespace {

// Whether the text has a character that must not reach a terminal. In a text of several `lines`,
// line feeds and tabs may.
bool HasControls(std::string_view text, bool lines) {
  while (const auto code_point = TakeCodePoint(text)) {
    const bool layout = code_point == U'\n' || code_point == U'\t';
    if (!(lines && layout) && IsUnsafeToShow(*code_point)) return true;
  }
  return false;
}

Status CheckWritten(const std::string& what, const std::string& text, size_t bytes_max,
                    bool lines) {
  if (text.size() > bytes_max) {
    return InvalidArgument("{} has {} bytes; at most {} are kept", what, text.size(), bytes_max);
  }
  if (!IsUtf8(text)) return InvalidArgument("{} is not UTF-8", what);
  if (!HasControls(text, lines)) return OkStatus();
  return InvalidArgument("{} has control characters ('{}'); leave them out", what, Excerpt(text));
}

// A '=' would make another key of it in the list's filter.
Status CheckLabelKey(const std::string& key) {
  if (key.empty()) return InvalidArgument("a label needs a key: team=research");
  RETURN_IF_ERROR(CheckWritten(fmt::format("the key '{}' of a label", Excerpt(key)), key,
                               kLabelKeyBytesMax, false));
  const bool bad = std::any_of(key.begin(), key.end(), [](char c) { return c == ' ' || c == '='; });
  if (!bad) return OkStatus();
  return InvalidArgument("the key '{}' of a label has a blank or '='; expected one word",
                         Excerpt(key));
}

}  // namespace

StatusOr<RunAnnotated> AnnotationOf(const v1::AnnotateRequest& request) {
  RunAnnotated change;
  const auto labels = static_cast<size_t>(request.labels_size());
  if (labels > kRunLabelsMax ||
      static_cast<size_t>(request.removed_labels_size()) > kRunLabelsMax) {
    return InvalidArgument("{} labels are given; a run has at most {}",
                           request.labels_size() + request.removed_labels_size(), kRunLabelsMax);
  }
  for (const auto& [key, value] : request.labels()) {
    RETURN_IF_ERROR(CheckLabelKey(key));
    RETURN_IF_ERROR(CheckWritten(fmt::format("the value of label '{}'", key), value,
                                 kLabelValueBytesMax, false));
    change.labels[key] = value;
  }
  // Labels of a run file, which are removed here, may have any key; but this one is stored with the
  // event, whether or not the run has it.
  for (const std::string& key : request.removed_labels()) {
    if (key.size() > kRemovedKeyBytesMax) {
      return InvalidArgument("the key '{}' of a label has {} bytes; at most {} are read",
                             Excerpt(key), key.size(), kRemovedKeyBytesMax);
    }
    if (change.labels.contains(key)) {
      return InvalidArgument("label '{}' is set and removed at once", Excerpt(key));
    }
    change.removed_labels.push_back(key);
  }
  if (request.has_note()) {
    RETURN_IF_ERROR(CheckWritten("the note", request.note(), kNoteBytesMax, true));
    change.note = request.note();
  }
  if (change.labels.empty() && change.removed_labels.empty() && !change.note) {
    return InvalidArgument("the request changes neither a label nor the note");
  }
  return change;
}

}  // namespace gp::coordinator
