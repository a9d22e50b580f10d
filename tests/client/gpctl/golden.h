// Golden files: recorded screens, reviewed as diffs. GP_REWRITE_GOLDEN=1 writes them anew. Used by
// tests.
#pragma once

#include <string>

namespace gp::testing {

// Fails the current test when `text` differs from the file `path` of the source tree.
void ExpectGoldenFile(const std::string& path, const std::string& text);

// The same for tests/client/gpctl/golden/<name>.
void ExpectGolden(const std::string& name, const std::string& text);

}  // namespace gp::testing
