// Opens the text of a source and checks that it is text, or lines of JSON, before it is read as
// such. Any thread may call.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "corpus/source.h"
#include "formats/text_stream.h"
#include "plan/run_spec.h"

namespace gp::corpus {

// The text from its beginning. InvalidArgument names the kind of file if the magic number or the
// content shows another one. A guess from the content also names the setting that accepts the file
// anyway (Source::form_given).
StatusOr<formats::TextStream> OpenSource(const Source& source);

// Looks at the beginning of a piece that begins at byte `offset` of a source's text: after a
// textual beginning a file may continue with something else. InvalidArgument as above.
Status CheckPiece(const Source& source, std::string_view piece, uint64_t offset);

// Opens each source, so that a bad file is refused before any work begins. Skips standard input.
Status CheckContents(const std::vector<Source>& sources);

// Converts data.format to the `form` of ExpandSources().
std::optional<TextForm> FormOf(runspec::DataFormat format);

}  // namespace gp::corpus
