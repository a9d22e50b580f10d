// What may be typed next on a command line of gpctl, for the completion of shells: commands, flags
// and their values, keys of the run file, runs and their checkpoints. Runs are asked of the
// coordinator, for at most a second. Used by gpctl's main thread.
#pragma once

#include <string>
#include <vector>

#include "base/command_line.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct Candidates {
  std::vector<std::string> words;  // each begins with the word that is typed
  bool files = false;              // names of files, too: the shell knows them
};

// `words`: the command line without the program's name; the last one is being typed and may be
// empty. Never fails: without an answer there are fewer candidates.
Candidates CandidatesFor(Command program, const std::vector<std::string>& words, Console& console);

// The candidates as the scripts of `gpctl completion` read them: a line for each word, and a first
// line ":files" if the shell adds names of files.
std::string CandidateLines(const Candidates& candidates);

// The hidden command that the scripts call: gpctl __complete WORD...
inline constexpr char kCompleteWord[] = "__complete";

}  // namespace gp::gpctl
