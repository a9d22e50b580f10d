// The classes of code points that GPT-2's splitting rule names: \p{L}, \p{N} and \s. Pure
// functions.
#pragma once

namespace gp {

bool IsLetter(char32_t code_point);
bool IsNumber(char32_t code_point);
bool IsSpace(char32_t code_point);

}  // namespace gp
