// Recognises pickles of Python's protocols 0 and 1, which have no magic number. Pure; any thread
// may call.
#pragma once

#include <string_view>

namespace gp::formats {

// True when all of `begin` parses as instructions of a pickle. `whole`: `begin` is the whole file,
// so it must end with the instruction STOP.
bool IsOldPickle(std::string_view begin, bool whole);

}  // namespace gp::formats
