// Messages that a malicious trainer may send to its agent. Called once, by one thread.
#pragma once

#include <string>

namespace gp::fakes {

// Writes to the file descriptor `link` until the process is killed. `kind`:
//   garbage     bytes that are no frame
//   large       a frame of 16 MiB
//   half        the beginning of a frame, and nothing more
//   foreign     a message that only an agent sends
//   early       every message of a training run at once, before it listens
//   offer       an offer of 200 KiB
//   checkpoints one checkpoint after another, as fast as it can
//   steps       one step after another, as fast as it can, each with a long warning
//   lines       endless output
[[noreturn]] void SayHostileWords(const std::string& kind, int link);

}  // namespace gp::fakes
