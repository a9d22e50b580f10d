// The audit log's byte format (docs/formats/audit.md): JSON lines, each with a SHA-256 over itself
// and the line before it, so that changed, removed, added or moved lines are detected. Pure
// functions and values, except VerifyAuditDirectory, which reads files. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace gp::formats {

// The hash before the first line.
inline constexpr char kNoAuditHash[] =
    "0000000000000000000000000000000000000000000000000000000000000000";

struct AuditRecord {
  uint64_t sequence = 0;  // 1, 2, 3, … without gaps
  WallTime at;
  std::string principal;  // "owner", "user alice", "node 3f…", "nobody"
  std::string token;      // the id of the token, never its secret; or empty
  std::string address;    // where the call came from
  std::string method;     // "gp.v1.RunService/Submit"
  std::string target;     // "research/run-7": the subject of the call
  std::string request_id;
  std::string outcome;  // "OK", "PERMISSION_DENIED", …
  std::string message;  // for a refusal or an error
  uint64_t count = 1;   // number of equal refusals in this line

  bool operator==(const AuditRecord&) const = default;
};

// One line without its newline. Texts are cut to 256 characters; control characters become '?', and
// non-ASCII characters \uXXXX, so that no text can end the line or control a terminal.
std::string RenderAuditLine(const AuditRecord& record, const std::string& previous_hash);

struct AuditLine {
  AuditRecord record;
  std::string previous_hash;
  std::string hash;
};

// DataLoss when the line is incomplete, or its hash does not match.
StatusOr<AuditLine> ParseAuditLine(std::string_view line);

// The end of the log, in its own file, so that lines cut off at either end are detected.
struct AuditHead {
  uint64_t first = 1;  // sequence of the oldest line that is kept
  uint64_t last = 0;   // sequence of the last record
  std::string hash = kNoAuditHash;

  bool operator==(const AuditHead&) const = default;
};

inline constexpr char kAuditHeadName[] = "head.json";

// The text always has the same length.
std::string RenderAuditHead(const AuditHead& head);
StatusOr<AuditHead> ParseAuditHead(std::string_view text);

// Follows the lines of a log, in order.
class AuditChain {
 public:
  // Also finds the record with the hash `wanted`, which someone noted earlier; empty: searches for
  // none.
  explicit AuditChain(std::string wanted = "") : wanted_(std::move(wanted)) {}

  // DataLoss: the line is damaged, or does not follow the previous one.
  StatusOr<AuditRecord> Follow(std::string_view line);

  uint64_t count() const { return count_; }
  uint64_t first() const { return first_; }
  uint64_t last() const { return last_; }
  const std::string& hash() const { return hash_; }
  // Nullopt while no line has had the wanted hash.
  std::optional<uint64_t> wanted_sequence() const { return wanted_sequence_; }

 private:
  const std::string wanted_;
  std::optional<uint64_t> wanted_sequence_;
  uint64_t count_ = 0;
  uint64_t first_ = 0;
  uint64_t last_ = 0;
  std::string hash_;
};

// "audit-00000000000000000042.jsonl": the file that begins with this record.
std::string AuditFileName(uint64_t first_sequence);
// The number in such a name. InvalidArgument when there is none.
StatusOr<uint64_t> FirstOfAuditFile(std::string_view name);
// The names of the log's files in `directory`, oldest first.
StatusOr<std::vector<std::string>> ListAuditFiles(const std::string& directory);

struct AuditSummary {
  uint64_t count = 0;
  uint64_t first = 0;
  uint64_t last = 0;
  // The hash of the last line. A copy of it that is kept elsewhere reveals every later change of
  // the lines up to there.
  std::string hash;
  std::optional<uint64_t> wanted_sequence;  // of the record with the wanted hash
  size_t files = 0;
};

// Reads the whole log. DataLoss names the file and the line where the chain breaks, or what is
// missing at the log's beginning or end. NotFound when there is no log. `wanted` has the same
// meaning as in AuditChain.
StatusOr<AuditSummary> VerifyAuditDirectory(const std::string& directory,
                                            const std::string& wanted = "");

// The result of a chain that was followed to its end.
AuditSummary Summarize(const AuditChain& chain);

}  // namespace gp::formats
