#include "client/gpctl/session/context_name.h"

#include "base/file.h"
#include "base/text/excerpt.h"

namespace gp::gpctl {
namespace {

constexpr size_t kContextNameBytesMax = 100;
constexpr std::string_view kContextNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";

}  // namespace

std::string ContextNameOf(const std::string& server) {
  std::string name = server.substr(0, kContextNameBytesMax);
  for (char& c : name) {
    if (kContextNameCharacters.find(c) == std::string_view::npos) c = '-';
  }
  return name;
}

Status CheckContextName(const std::string& name) {
  const bool fits = !name.empty() && name.size() <= kContextNameBytesMax && name.front() != '.' &&
                    name.find_first_not_of(kContextNameCharacters) == std::string::npos;
  if (fits) return OkStatus();
  return InvalidArgument(
      "'{}' cannot name a context; expected 1 to {} letters, digits, '.', '_', ':' or '-'",
      Excerpt(name), kContextNameBytesMax);
}

Status ForgetFiles(const Context& context) {
  for (const std::string& path : {context.token_file, context.ca_file}) {
    if (!path.empty()) RETURN_IF_ERROR(RemoveTree(path));
  }
  return OkStatus();
}

}  // namespace gp::gpctl
