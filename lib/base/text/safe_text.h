// Cleans text that somebody else wrote (a name, a reason, a sample) before a person sees it, so
// that it cannot drive a terminal, reorder a line, or make one line of a log into two. Pure
// functions; thread-safe.
#pragma once

namespace gp {

// Control characters (C0, DEL, C1, so that no escape sequence begins), line and paragraph
// separators, bidirectional overrides and isolates.
bool IsUnsafeToShow(char32_t code_point);

}  // namespace gp
