// The last line of a live screen, and the page of help. Pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/render/run_text.h"
#include "client/gpctl/terminal/screen_line.h"

namespace gp::gpctl {

struct KeyHelp {
  std::string key;   // "q"
  std::string word;  // "leave"
};

// The keys that fit, or the message if there is one; at the right end the time (UTC) if there is
// room.
ScreenLine ScreenFooter(const std::vector<KeyHelp>& keys, const std::string& message, double now,
                        const TextStyle& style);

// The page of help: each key with its words, then paragraphs. If more than `rows` lines are needed,
// the last one says how many do not fit.
std::vector<ScreenLine> HelpLines(const std::vector<KeyHelp>& keys,
                                  const std::vector<std::string>& paragraphs, int rows,
                                  const TextStyle& style);

// Text that is broken between words, at most `rows` lines.
std::vector<ScreenLine> WrappedLines(const std::string& text, int width, int rows, int indent,
                                     Color color = Color::kNone);

}  // namespace gp::gpctl
