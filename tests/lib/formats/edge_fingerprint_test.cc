#include "formats/edge_fingerprint.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::formats {
namespace {

std::string FingerprintOf(const std::string& bytes) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("file");
  EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
  const auto fingerprint = EdgeFingerprint(*RandomAccessFile::Open(path));
  EXPECT_TRUE(fingerprint.ok()) << fingerprint.status();
  return *fingerprint;
}

TEST(EdgeFingerprint, SeesTheSizeAndBothEndsAndNothingBetween) {
  std::string bytes(300'000, 'a');
  const std::string original = FingerprintOf(bytes);
  EXPECT_EQ(FingerprintOf(bytes), original);
  EXPECT_NE(FingerprintOf(bytes + "a"), original);
  for (const size_t place : {size_t{0}, bytes.size() - 1}) {
    std::string other = bytes;
    other[place] = 'b';
    EXPECT_NE(FingerprintOf(other), original) << place;
  }
  bytes[bytes.size() / 2] = 'b';
  EXPECT_EQ(FingerprintOf(bytes), original);
}

TEST(EdgeFingerprint, FilesMayBeShort) {
  EXPECT_NE(FingerprintOf(""), FingerprintOf("a"));
  EXPECT_NE(FingerprintOf("b"), FingerprintOf("a"));
}

}  // namespace
}  // namespace gp::formats
