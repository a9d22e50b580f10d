#include "coordinator/notifications/signature.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

// hmac.new(b"Jefe-secret-of-16", b'1700000000.{"a":1}', hashlib.sha256).hexdigest() of Python.
TEST(Signature, IsTheOneThatPythonComputes) {
  EXPECT_EQ(SignatureOf("Jefe-secret-of-16", 1700000000, R"({"a":1})"),
            "v1=e490c3cd387c9faa3de66aea5ecfda53ac98fb5f04333c30fa313aea64c4a4b0");
}

TEST(Signature, CoversSecretTimeAndBody) {
  const std::string signature = SignatureOf("secret", 1, "body");
  EXPECT_NE(SignatureOf("other", 1, "body"), signature);
  EXPECT_NE(SignatureOf("secret", 2, "body"), signature);
  EXPECT_NE(SignatureOf("secret", 1, "bodY"), signature);
}

}  // namespace
}  // namespace gp::coordinator
