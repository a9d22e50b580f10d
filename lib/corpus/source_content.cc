#include "corpus/source_content.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text/shell_word.h"
#include "formats/likeness/likeness.h"
#include "formats/likeness/wide_text.h"

namespace gp::corpus {
namespace {

StatusOr<formats::TextStream> OpenStream(const Source& source) {
  if (source.path != kStandardInput) return formats::TextStream::Open(source.path);
  return formats::TextStream::FromDescriptor(FileDescriptor(dup(STDIN_FILENO)), SourceName(source));
}

Status RefuseUnlike(const Source& source, const formats::Likeness& likeness) {
  if (likeness.is_json_lines) {
    return InvalidArgument(
        "{} looks like lines of JSON; --as jsonl (in a run file data.format: jsonl) reads a field "
        "of each line, --as txt (data.format: text) takes them as text",
        SourceName(source));
  }
  return InvalidArgument(
      "{} looks like {}; {}. --as txt (in a run file data.format: text) accepts it anyway",
      SourceName(source), likeness.what, formats::WayFor(likeness.way, source.path));
}

Status CheckText(const Source& source, const formats::TextStream& stream) {
  ASSIGN_OR_RETURN(const auto likeness, stream.Unlikeness());
  return likeness ? RefuseUnlike(source, *likeness) : OkStatus();
}

// Checks the encoding only: each line is checked when it is read.
Status CheckLines(const Source& source, std::string_view head) {
  const auto encoding = formats::WideEncodingOfAscii(head);
  if (!encoding) return OkStatus();
  return InvalidArgument(
      "{} looks like text in {}, expected lines of JSON in UTF-8; convert it: iconv -f {} -t UTF-8 "
      "{}",
      SourceName(source), *encoding, *encoding, ShellWord(source.path));
}

}  // namespace

StatusOr<formats::TextStream> OpenSource(const Source& source) {
  ASSIGN_OR_RETURN(formats::TextStream stream, OpenStream(source));
  if (source.form == TextForm::kText && !source.form_given) {
    RETURN_IF_ERROR(CheckText(source, stream));
  }
  if (source.form == TextForm::kJsonLines) RETURN_IF_ERROR(CheckLines(source, stream.head()));
  return stream;
}

Status CheckPiece(const Source& source, std::string_view piece, uint64_t offset) {
  if (source.form != TextForm::kText || source.form_given) return OkStatus();
  auto likeness = formats::UnlikeTextInside(piece.substr(0, formats::kLikenessBytes));
  if (!likeness || likeness->is_json_lines) return OkStatus();
  likeness->what += fmt::format(" near byte {} of the text", offset);
  return RefuseUnlike(source, *likeness);
}

Status CheckContents(const std::vector<Source>& sources) {
  for (const Source& source : sources) {
    if (source.path != kStandardInput) RETURN_IF_ERROR(OpenSource(source).status());
  }
  return OkStatus();
}

std::optional<TextForm> FormOf(runspec::DataFormat format) {
  if (format == runspec::DataFormat::kText) return TextForm::kText;
  if (format == runspec::DataFormat::kJsonLines) return TextForm::kJsonLines;
  return std::nullopt;
}

}  // namespace gp::corpus
