#include "base/text/safe_text.h"

namespace gp {

bool IsUnsafeToShow(char32_t code_point) {
  const bool control = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
  const bool reorders = (code_point >= 0x202A && code_point < 0x202F) ||
                        (code_point >= 0x2066 && code_point < 0x206A);
  const bool separates = code_point == 0x2028 || code_point == 0x2029;
  return control || reorders || separates;
}

}  // namespace gp
