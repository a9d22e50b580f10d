// Decides which characters of untrusted text (a name, a reason, a sample) must not reach a person's
// screen: those that control a terminal, reorder a line, or split a log line in two. Callers
// replace or escape them. Pure functions; thread-safe.
#pragma once

namespace gp {

// Control characters (C0, DEL, C1, so that no escape sequence begins), line and paragraph
// separators, bidirectional overrides and isolates.
bool IsUnsafeToShow(char32_t code_point);

}  // namespace gp
