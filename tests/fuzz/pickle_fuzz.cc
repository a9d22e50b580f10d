// The pickle reader, with files like nanoGPT's meta.pkl.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "formats/pickle.h"

namespace {

using gp::formats::Pickle;

// Reads only one level, because values can be shared and a small file can describe a very deep
// dictionary.
void ReadEntries(const Pickle& pickle) {
  for (const auto& [key, value] : pickle.root().entries) {
    const Pickle::Value& name = pickle.at(key);
    (void)pickle.at(value);
    if (name.kind != Pickle::Value::Kind::kText) continue;
    GP_CHECK(pickle.Find(pickle.root(), name.text) != nullptr);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto pickle = Pickle::Parse(bytes, "meta.pkl");
  if (pickle.ok()) {
    ReadEntries(*pickle);
  } else {
    GP_CHECK(!gp::Message(pickle.status()).empty());
  }
  return 0;
}
