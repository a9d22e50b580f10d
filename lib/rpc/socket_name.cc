#include "rpc/socket_name.h"

#include <fcntl.h>
#include <sys/un.h>

#include <cctype>
#include <cerrno>
#include <utility>

namespace gp::rpc {
namespace {

constexpr size_t kNameBytesMax = sizeof(sockaddr_un::sun_path) - 1;

bool Fits(const std::string& name) { return name.size() <= kNameBytesMax; }

bool IsPlain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("/._-").find(c) != std::string_view::npos;
}

}  // namespace

StatusOr<SocketName> SocketName::Of(const std::string& path) {
  if (Fits(path)) return SocketName(path, FileDescriptor());
  const std::string directory = DirectoryOf(path);
  FileDescriptor opened(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) return ErrnoStatus(errno, "open", directory);
  std::string name = fmt::format("/proc/self/fd/{}/{}", opened.get(), BaseNameOf(path));
  if (!Fits(name)) {
    return InvalidArgument("the name of the socket {} is too long; expected at most 80 bytes",
                           path);
  }
  return SocketName(std::move(name), std::move(opened));
}

std::string SocketName::Target() const {
  std::string target = "unix:";
  for (const char c : text_) {
    target +=
        IsPlain(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return target;
}

}  // namespace gp::rpc
