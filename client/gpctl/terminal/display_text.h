// The width of text on a terminal, in columns instead of bytes. Untrusted text (log lines, samples)
// is cut and cleaned here before it reaches a screen. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace gp::gpctl {

// Columns that UTF-8 `text` takes. Control characters and malformed bytes count one, wide East
// Asian characters two, combining marks none.
int DisplayWidth(std::string_view text);

// The longest beginning of `text` that fits into `columns`; never cuts a character. A cut text ends
// in "…" ("~" in ASCII).
std::string CutToWidth(std::string_view text, int columns, bool utf8);

// The same, but cuts the middle, because the ends of names distinguish runs: "fine-tu…-lr-3e-4".
std::string CutMiddleToWidth(std::string_view text, int columns, bool utf8);

// `text` in lines of at most `columns`, broken at spaces where possible; every line after the first
// begins with `indent` spaces; the first is never broken before that column. Every line but the
// last ends in '\n'. `columns` of 0: no limit.
std::string Wrapped(std::string_view text, int columns, int indent);

// Every line of `text` as Wrapped does it, continued below the last of its columns: below the text
// after two or more spaces, if that begins in the left half. For tables of names and sentences.
std::string WrappedBelowText(std::string_view text, int columns);

// "  label       text" and a line break; text that does not fit continues on the next lines, below
// the text.
std::string LabelledLine(std::string_view label, std::string_view text, int columns);

// `text` followed by spaces up to `columns`; longer text is left as it is.
std::string PadRight(std::string_view text, int columns);
std::string PadLeft(std::string_view text, int columns);

// One line that cannot move the cursor or change colours: line feeds become "⏎" (" " in ASCII),
// tabs spaces, other unsafe characters (base/text/safe_text.h) and malformed bytes "·" ("."). In
// ASCII (not `utf8`) every other character becomes ".", too.
std::string OneSafeLine(std::string_view text, bool utf8);

// The same, but line feeds and tabs stay: for printing samples.
std::string SafeText(std::string_view text, bool utf8);

}  // namespace gp::gpctl
