// Messages that an attacker's trainer may send to its agent. Called once, by one thread.
#pragma once

#include <string>

namespace gp::fakes {

// Writes to the link in file descriptor `link` until somebody ends the process. `kind`:
//   garbage     bytes that are no frame
//   large       a frame of 16 MiB
//   half        the beginning of a frame, and nothing more
//   foreign     a message that only an agent sends
//   early       every message of a training at once, before it listens
//   offer       an offer of 200 KiB
//   checkpoints one checkpoint after the other, as fast as it can
//   steps       one step after the other, as fast as it can, each with a long warning
//   lines       output without end
[[noreturn]] void SayHostileWords(const std::string& kind, int link);

}  // namespace gp::fakes
