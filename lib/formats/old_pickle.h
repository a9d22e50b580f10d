// Recognises pickles of Python's protocols 0 and 1, which have no magic number. Pure; any thread
// may call.
#pragma once

#include <string_view>

namespace gp::formats {

// True when `begin` is made of a pickle's instructions as far as it goes. `whole`: it is all of the
// file, so it has to end with the instruction that ends a pickle.
bool IsOldPickle(std::string_view begin, bool whole);

}  // namespace gp::formats
