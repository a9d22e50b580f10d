#include "formats/file_digest.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::formats {
namespace {

std::string DigestOf(DigestKind kind, const std::string& text, size_t piece) {
  FileDigest digest(kind);
  for (size_t i = 0; i < text.size(); i += piece) digest.Update(text.substr(i, piece));
  return digest.Finish();
}

TEST(FileDigest, HasThePublishedValues) {
  EXPECT_EQ(DigestOf(DigestKind::kSha256, "abc", 1),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(DigestOf(DigestKind::kXxh3, "", 1), "99aa06d3014798d86001c324468d497f");
}

TEST(FileDigest, DoesNotDependOnThePiecesAndSeesEveryByte) {
  std::string text(5000, 'a');
  const TemporaryDirectory directory;
  const std::string path = JoinPath(directory.path(), "file");
  ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  for (const DigestKind kind : {DigestKind::kSha256, DigestKind::kXxh3}) {
    const std::string whole = DigestOf(kind, text, text.size());
    EXPECT_EQ(DigestOf(kind, text, 7), whole);
    EXPECT_EQ(*DigestOfFile(path, kind), whole);
    text[4999] ^= 1;
    EXPECT_NE(DigestOf(kind, text, text.size()), whole);
    text[4999] ^= 1;
  }
}

}  // namespace
}  // namespace gp::formats
