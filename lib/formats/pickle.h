// Pickle: a Python pickle that holds only dictionaries, text and whole numbers, like nanoGPT's
// meta.pkl (docs/formats/pickle.md). Reading never executes code: every instruction that could name
// or call a class is refused. A value; any thread may read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace gp::formats {

class Pickle {
 public:
  using Index = uint32_t;  // of a value; values may be shared, so they are referenced by number

  struct Value {
    enum class Kind { kNumber, kText, kDictionary };
    Kind kind = Kind::kNumber;
    int64_t number = 0;
    std::string text;                              // UTF-8
    std::vector<std::pair<Index, Index>> entries;  // in the order of the file
  };

  // InvalidArgument names `name`, the offset and what was expected. Protocols 0 to 5.
  static StatusOr<Pickle> Parse(std::string_view bytes, const std::string& name);

  const Value& root() const { return values_[root_]; }
  // REQUIRES: `index` comes from an entry of this pickle.
  const Value& at(Index index) const { return values_[index]; }
  // The value of the last entry of `dictionary` whose key is the text `key`; nullptr when there is
  // none.
  const Value* Find(const Value& dictionary, std::string_view key) const;

 private:
  friend class PickleReader;
  std::vector<Value> values_;
  Index root_ = 0;
};

}  // namespace gp::formats
