#include "formats/audit_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "formats/sha256.h"

namespace gp::formats {
namespace {

AuditRecord Sample(uint64_t sequence) {
  return {.sequence = sequence,
          .at = WallTime(std::chrono::microseconds(1'700'000'000'123'456)),
          .principal = "user alice",
          .token = "0123456789",
          .address = "ipv4:10.0.0.7:41022",
          .method = "gp.v1.RunService/Submit",
          .target = "research/run-7",
          .request_id = "r1",
          .outcome = "OK"};
}

TEST(AuditLine, ComesBack) {
  const AuditRecord record = Sample(7);
  const auto parsed = ParseAuditLine(RenderAuditLine(record, kNoAuditHash));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->record, record);
  EXPECT_EQ(parsed->previous_hash, kNoAuditHash);
}

// docs/formats/audit.md promises this to users of other tools.
TEST(AuditLine, IsHashedUpToItsHash) {
  const std::string line = RenderAuditLine(Sample(1), kNoAuditHash);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["time"], "2023-11-14T22:13:20.123456Z");
  const size_t end = line.find(",\"hash\":\"");
  EXPECT_EQ(json["hash"], Sha256Hex(line.substr(0, end)));
}

TEST(AuditLine, NoTextEndsItOrDrivesATerminal) {
  AuditRecord record = Sample(1);
  for (int c = 0; c < 256; ++c) record.message += static_cast<char>(c);
  record.target = "a\"}\n{\"sequence\":2";
  record.principal = "\x1b]0;x\x07\u202e\u009b2J\x7f" + std::string(100'000, 'x');
  const std::string line = RenderAuditLine(record, kNoAuditHash);
  for (const char c : line) {
    EXPECT_TRUE(c >= ' ' && c < 127) << static_cast<int>(c);
  }
  EXPECT_LT(line.size(), 4096u);
  EXPECT_TRUE(ParseAuditLine(line).ok());
}

TEST(AuditChain, FindsARemovedAMovedAndAnAddedLine) {
  std::vector<std::string> lines;
  std::string hash = kNoAuditHash;
  for (uint64_t sequence = 1; sequence <= 4; ++sequence) {
    lines.push_back(RenderAuditLine(Sample(sequence), hash));
    hash = ParseAuditLine(lines.back())->hash;
  }
  const auto follows = [](const std::vector<std::string>& log) {
    AuditChain chain;
    for (const std::string& line : log) {
      if (!chain.Follow(line).ok()) return false;
    }
    return true;
  };
  EXPECT_TRUE(follows(lines));
  EXPECT_FALSE(follows({lines[0], lines[2], lines[3]}));
  EXPECT_FALSE(follows({lines[0], lines[2], lines[1], lines[3]}));
  EXPECT_FALSE(follows({lines[0], lines[1], lines[1], lines[2]}));
  // A forged line whose own hash and number are correct.
  EXPECT_FALSE(follows({lines[0], RenderAuditLine(Sample(2), kNoAuditHash), lines[2]}));
}

TEST(AuditHead, HasOneSpelling) {
  const AuditHead head{3, 12, Sha256Hex("x")};
  const std::string text = RenderAuditHead(head);
  EXPECT_EQ(ParseAuditHead(text).value(), head);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const auto parsed = ParseAuditHead(changed);
    EXPECT_FALSE(parsed.ok() && *parsed == head) << i;
    EXPECT_FALSE(ParseAuditHead(text.substr(0, i)).ok()) << i;
  }
}

}  // namespace
}  // namespace gp::formats
