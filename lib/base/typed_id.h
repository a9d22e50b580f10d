// TypedId<Tag>: a string id that cannot be swapped with another kind of id. Comparable, hashable,
// printable with fmt.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <functional>
#include <string>
#include <utility>

namespace gp {

template <typename Tag>
class TypedId {
 public:
  TypedId() = default;
  explicit TypedId(std::string value) : value_(std::move(value)) {}

  const std::string& value() const { return value_; }
  bool empty() const { return value_.empty(); }

  friend auto operator<=>(const TypedId&, const TypedId&) = default;

 private:
  std::string value_;
};

}  // namespace gp

template <typename Tag>
struct std::hash<gp::TypedId<Tag>> {
  size_t operator()(const gp::TypedId<Tag>& id) const {
    return std::hash<std::string>()(id.value());
  }
};

template <typename Tag>
struct fmt::formatter<gp::TypedId<Tag>> : fmt::formatter<std::string> {
  template <typename Context>
  auto format(const gp::TypedId<Tag>& id, Context& context) const {
    return fmt::formatter<std::string>::format(id.value(), context);
  }
};
