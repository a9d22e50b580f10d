// The reader of a checkpoint's manifest.json. An accepted manifest is written and read again.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "formats/checkpoint_manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gp::formats;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = ParseManifest(text, "manifest.json");
  if (!manifest.ok()) {
    GP_CHECK(!gp::Message(manifest.status()).empty());
    return 0;
  }
  const auto again = ParseManifest(FormatManifest(*manifest), "manifest.json");
  GP_CHECK(again.ok() && *again == *manifest);
  return 0;
}
