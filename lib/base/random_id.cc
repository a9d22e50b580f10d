#include "base/random_id.h"

#include <sys/random.h>

#include <cerrno>
#include <vector>

#include "base/check.h"

namespace gp {
namespace {

std::vector<unsigned char> RandomBytes(size_t count) {
  std::vector<unsigned char> bytes(count);
  size_t filled = 0;
  while (filled < count) {
    const ssize_t got = getrandom(bytes.data() + filled, count - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    GP_CHECK(got > 0, "getrandom: errno {}", errno);
    filled += static_cast<size_t>(got);
  }
  return bytes;
}

std::string Spell(size_t length, const char* digits, unsigned mask) {
  std::string text;
  for (unsigned char byte : RandomBytes(length)) text += digits[byte & mask];
  return text;
}

}  // namespace

std::string RandomId(size_t length) {
  return Spell(length, "0123456789abcdefghjkmnpqrstvwxyz", 31);
}

std::string RandomHex(size_t byte_count) { return Spell(2 * byte_count, "0123456789abcdef", 15); }

}  // namespace gp
