#include "formats/text_file.h"

#include <algorithm>

#include "base/file.h"
#include "formats/likeness.h"
#include "formats/text_stream.h"

namespace gp::formats {
namespace {

constexpr size_t kFilePieceBytes = 1 << 20;

Status CheckText(const std::string& path, const TextCheck& check, std::string_view head) {
  if (check.any_content) return OkStatus();
  const auto likeness = UnlikeText(head);
  if (!likeness) return OkStatus();
  const std::string way = check.setting.empty() ? "" : check.setting + " takes it as it is; ";
  return InvalidArgument("{} looks like {}, expected text; {}{}", path, likeness->what, way,
                         WayFor(likeness->way, path));
}

}  // namespace

Status ReadTextFile(const std::string& path, const TextCheck& check, uint64_t text_bytes_max,
                    const std::function<Status(std::string_view)>& take) {
  ASSIGN_OR_RETURN(TextStream stream, TextStream::Open(path));
  RETURN_IF_ERROR(CheckText(path, check, stream.head()));
  std::string piece(kFilePieceBytes, '\0');
  uint64_t left = text_bytes_max;
  while (true) {
    ASSIGN_OR_RETURN(const size_t size, stream.Read(piece));
    if (size == 0) return OkStatus();
    if (size > left) {
      return ResourceExhausted(
          "{}: the text is longer than the {} bytes that there is room for; take a part of it",
          path, text_bytes_max);
    }
    left -= size;
    RETURN_IF_ERROR(take(std::string_view(piece).substr(0, size)));
  }
}

StatusOr<std::string> ReadTextFile(const std::string& path, const TextCheck& check,
                                   uint64_t text_bytes_max) {
  std::string text;
  if (const auto size = FileSize(path); size.ok()) text.reserve(std::min(*size, text_bytes_max));
  RETURN_IF_ERROR(ReadTextFile(path, check, text_bytes_max, [&text](std::string_view piece) {
    text += piece;
    return OkStatus();
  }));
  return text;
}

}  // namespace gp::formats
