#include "formats/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/check.h"
#include "base/file.h"

namespace gp::formats {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  GP_CHECK(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::string_view data) {
  GP_CHECK(EVP_DigestUpdate(context_->evp, data.data(), data.size()) == 1);
}

std::string Sha256::Finish() {
  unsigned char digest[32];
  unsigned int length = 0;
  GP_CHECK(EVP_DigestFinal_ex(context_->evp, digest, &length) == 1 && length == sizeof digest);
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

std::string Sha256Hex(std::string_view data) {
  Sha256 sha;
  sha.Update(data);
  return sha.Finish();
}

StatusOr<std::string> Sha256OfFile(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  Sha256 sha;
  std::vector<char> buffer(1 << 20);
  while (true) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) return sha.Finish();
    sha.Update({buffer.data(), static_cast<size_t>(got)});
  }
}

}  // namespace gp::formats
