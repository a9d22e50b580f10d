// SHA-256, as checkpoints and fingerprints use it. A Sha256 belongs to one thread at a time;
// functions are pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace gp::formats {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(std::string_view data);
  // The digest as 64 lower-case hexadecimal digits. Update must not be called afterwards.
  std::string Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string Sha256Hex(std::string_view data);

}  // namespace gp::formats
