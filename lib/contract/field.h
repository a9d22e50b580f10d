// FieldInfo: describes one field of a value. A value that processes exchange is a plain struct with
// a list of its fields; the JSON of the link, metrics.jsonl, TensorBoard, the gauges, protobuf
// messages and records of the store are made from it (docs/adr/0012).
//
// The list is a static member template: ForEachField(visit) calls visit(FieldInfo, pointer to
// member) for each field, in the order of the keys in metrics.jsonl. (On the link, JSON sorts
// keys.)
#pragma once

#include <type_traits>
#include <utility>

namespace gp::contract {

struct FieldInfo {
  const char* name;        // the name in C++, in protobuf messages, on the link and in the store
  const char* key = "";    // in metrics.jsonl and `gpctl metrics -o json`; empty: left out
  const char* tag = "";    // in TensorBoard; empty: left out
  const char* gauge = "";  // on the coordinator's metrics page; empty: left out
  const char* help = "";   // help text of the gauge
  bool recorded = true;    // metrics.jsonl also has the key
  bool charted = false;    // the dashboard's points have it as a column
  // The key is left out if the value is 0 or empty, and readers take a missing key for that value.
  bool omit_default = false;
  bool zero_is_unknown = false;  // TensorBoard gets no value if it is 0
};

template <typename T>
concept Listed = requires {
  T::ForEachField([](const FieldInfo&, auto) {});
};

// Calls visit(field, value) for each field of `value`, which may be const.
template <typename T, typename Visit>
void VisitFields(T& value, Visit&& visit) {
  std::remove_cv_t<T>::ForEachField(
      [&](const FieldInfo& field, auto member) { visit(field, value.*member); });
}

}  // namespace gp::contract
