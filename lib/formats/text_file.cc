#include "formats/text_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "formats/likeness/likeness.h"
#include "formats/text_stream.h"

namespace gp::formats {
namespace {

constexpr size_t kFilePieceBytes = 1 << 20;

Status RefuseUnlike(const std::string& path, const TextCheck& check, const Likeness& likeness) {
  const std::string way = check.setting.empty() ? "" : check.setting + " accepts it anyway; ";
  return InvalidArgument("{} looks like {}, expected text; {}{}", path, likeness.what, way,
                         WayFor(likeness.way, path));
}

Status CheckText(const std::string& path, const TextCheck& check, const TextStream& stream) {
  if (check.any_content) return OkStatus();
  ASSIGN_OR_RETURN(const auto likeness, stream.Unlikeness());
  return likeness ? RefuseUnlike(path, check, *likeness) : OkStatus();
}

// Checks the beginning and the end of a piece, which begins at byte `offset` of the text.
Status CheckPiece(const std::string& path, const TextCheck& check, std::string_view piece,
                  uint64_t offset) {
  if (check.any_content) return OkStatus();
  const size_t last = piece.size() > kLikenessBytes ? piece.size() - kLikenessBytes : 0;
  for (const size_t at : {size_t{0}, last}) {
    auto likeness = UnlikeTextInside(piece.substr(at, kLikenessBytes));
    if (!likeness || likeness->is_json_lines) continue;
    likeness->what += fmt::format(" near byte {} of the text", offset + at);
    return RefuseUnlike(path, check, *likeness);
  }
  return OkStatus();
}

}  // namespace

Status ReadTextFile(const std::string& path, const TextCheck& check, uint64_t text_bytes_max,
                    const std::function<Status(std::string_view)>& take) {
  ASSIGN_OR_RETURN(TextStream stream, TextStream::Open(path));
  RETURN_IF_ERROR(CheckText(path, check, stream));
  std::string piece(kFilePieceBytes, '\0');
  uint64_t left = text_bytes_max;
  while (true) {
    ASSIGN_OR_RETURN(const size_t size, stream.Read(piece));
    if (size == 0) return OkStatus();
    if (size > left) {
      return ResourceExhausted(
          "{}: the text is longer than {} bytes, the limit here; use a part of it", path,
          text_bytes_max);
    }
    RETURN_IF_ERROR(
        CheckPiece(path, check, std::string_view(piece).substr(0, size), text_bytes_max - left));
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
