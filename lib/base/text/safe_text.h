// Sanitizes untrusted text (a name, a reason, a sample) before a person sees it, so that it cannot
// control a terminal, reorder a line, or split a log line in two. Pure functions; thread-safe.
#pragma once

namespace gp {

// Control characters (C0, DEL, C1, so that no escape sequence begins), line and paragraph
// separators, bidirectional overrides and isolates.
bool IsUnsafeToShow(char32_t code_point);

}  // namespace gp
