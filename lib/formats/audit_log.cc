#include "formats/audit_log.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "formats/sha256.h"

namespace gp::formats {
namespace {

using AuditJson = nlohmann::ordered_json;

constexpr size_t kAuditTextCharactersMax = 256;
constexpr size_t kAuditLineBytesMax = 16 << 10;
constexpr std::string_view kHashKey = ",\"hash\":\"";
constexpr size_t kHashTailBytes = kHashKey.size() + 64 + 2;  // the key, the digits, "}
constexpr uint64_t kAuditFileBytesMax = uint64_t{1} << 30;
constexpr std::string_view kAuditFilePrefix = "audit-";
constexpr std::string_view kAuditFileSuffix = ".jsonl";

std::string Iso(WallTime at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(seconds.time_since_epoch().count()),
                     (at - seconds).count());
}

std::string Shown(const std::string& text) { return Excerpt(text, kAuditTextCharactersMax); }

Status Broken(std::string_view why) { return DataLoss("the audit log is broken: {}", why); }

StatusOr<AuditRecord> ReadFields(const AuditJson& json) {
  try {
    AuditRecord record;
    record.sequence = json.at("sequence").get<uint64_t>();
    record.at = WallTime(std::chrono::microseconds(json.at("at_us").get<int64_t>()));
    record.principal = json.at("principal").get<std::string>();
    record.token = json.at("token").get<std::string>();
    record.address = json.at("address").get<std::string>();
    record.method = json.at("method").get<std::string>();
    record.target = json.at("target").get<std::string>();
    record.request_id = json.at("request_id").get<std::string>();
    record.outcome = json.at("outcome").get<std::string>();
    record.message = json.at("message").get<std::string>();
    record.count = json.at("count").get<uint64_t>();
    return record;
  } catch (const AuditJson::exception&) {
    return Broken("a line lacks a field, or a field has the wrong type");
  }
}

// Reads a whole log against its head.
class AuditReader {
 public:
  AuditReader(std::string directory, AuditHead head, const std::string& wanted)
      : directory_(std::move(directory)), head_(std::move(head)), chain_(wanted) {}

  const AuditChain& chain() const { return chain_; }

  Status Read(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const uint64_t first = chain_.count() == 0 ? head_.first : chain_.last() + 1;
      if (name != AuditFileName(first)) {
        return DataLoss(
            "{}: the audit log is broken: expected record {} in {}, but the next file is {}",
            directory_, first, AuditFileName(first), name);
      }
      RETURN_IF_ERROR(FollowFile(JoinPath(directory_, name), name == names.back()));
    }
    return CheckHead();
  }

 private:
  // The last file of a killed coordinator may end with a partial line that was never acknowledged;
  // `allows_torn_end` skips it.
  Status FollowFile(const std::string& path, bool allows_torn_end) {
    ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kAuditFileBytesMax));
    std::string_view rest = content;
    for (int number = 1; !rest.empty(); ++number) {
      const size_t end = rest.find('\n');
      if (end == std::string_view::npos) {
        if (allows_torn_end) return OkStatus();
        return DataLoss("{}:{}: the audit log is broken: the line is incomplete", path, number);
      }
      const StatusOr<AuditRecord> record = chain_.Follow(rest.substr(0, end));
      if (!record.ok()) {
        return WithContext(record.status(), fmt::format("{}:{}", path, number));
      }
      if (chain_.last() == head_.last) hash_at_head_ = chain_.hash();
      rest.remove_prefix(end + 1);
    }
    return OkStatus();
  }

  // A killed coordinator may have written records that are not in the head yet.
  Status CheckHead() const {
    if (chain_.last() < head_.last) {
      return DataLoss(
          "{}: the audit log ends with record {}, but head.json says {}: records were removed",
          directory_, chain_.last(), head_.last);
    }
    if (hash_at_head_ != head_.hash) {
      return DataLoss("{}: record {} of the audit log does not match head.json", directory_,
                      head_.last);
    }
    return OkStatus();
  }

  const std::string directory_;
  const AuditHead head_;
  AuditChain chain_;
  std::string hash_at_head_ = kNoAuditHash;  // for a log without records
};

}  // namespace

std::string RenderAuditLine(const AuditRecord& record, const std::string& previous_hash) {
  AuditJson json;
  json["sequence"] = record.sequence;
  json["time"] = Iso(record.at);
  json["at_us"] = record.at.time_since_epoch().count();
  json["principal"] = Shown(record.principal);
  json["token"] = Shown(record.token);
  json["address"] = Shown(record.address);
  json["method"] = Shown(record.method);
  json["target"] = Shown(record.target);
  json["request_id"] = Shown(record.request_id);
  json["outcome"] = Shown(record.outcome);
  json["message"] = Shown(record.message);
  json["count"] = record.count;
  json["previous"] = previous_hash;
  std::string line = json.dump(-1, ' ', true, AuditJson::error_handler_t::replace);
  line.pop_back();  // the brace
  const std::string hash = Sha256Hex(line);
  return line.append(kHashKey).append(hash).append("\"}");
}

StatusOr<AuditLine> ParseAuditLine(std::string_view line) {
  if (line.size() < kHashTailBytes || line.size() > kAuditLineBytesMax) {
    return Broken("a line is incomplete");
  }
  const std::string_view hashed = line.substr(0, line.size() - kHashTailBytes);
  const std::string hash = Sha256Hex(hashed);
  if (line.substr(hashed.size()) != fmt::format("{}{}\"}}", kHashKey, hash)) {
    return Broken("a line was changed: its hash does not match");
  }
  const AuditJson json = AuditJson::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("previous") || !json["previous"].is_string()) {
    return Broken("a line is not a record");
  }
  AuditLine parsed;
  ASSIGN_OR_RETURN(parsed.record, ReadFields(json));
  parsed.previous_hash = json["previous"].get<std::string>();
  parsed.hash = hash;
  return parsed;
}

std::string RenderAuditHead(const AuditHead& head) {
  return fmt::format("{{\"first\":\"{:020}\",\"last\":\"{:020}\",\"hash\":\"{}\"}}\n", head.first,
                     head.last, head.hash);
}

StatusOr<AuditHead> ParseAuditHead(std::string_view text) {
  const Status damaged = Broken("head.json is damaged");
  const AuditJson json = AuditJson::parse(text, nullptr, false);
  if (!json.is_object() || json.size() != 3) return damaged;
  AuditHead head;
  for (const auto& [key, number] : {std::pair<const char*, uint64_t*>("first", &head.first),
                                    std::pair<const char*, uint64_t*>("last", &head.last)}) {
    if (!json.contains(key) || !json[key].is_string()) return damaged;
    const auto digits = json[key].get<std::string>();
    std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  }
  if (!json.contains("hash") || !json["hash"].is_string()) return damaged;
  head.hash = json["hash"].get<std::string>();
  if (RenderAuditHead(head) != text) return damaged;
  return head;
}

StatusOr<AuditRecord> AuditChain::Follow(std::string_view line) {
  ASSIGN_OR_RETURN(AuditLine parsed, ParseAuditLine(line));
  const uint64_t sequence = parsed.record.sequence;
  if (count_ == 0) {
    first_ = sequence;
    if (sequence == 0 || (sequence == 1 && parsed.previous_hash != kNoAuditHash)) {
      return Broken("the first record is not the start of a log");
    }
  } else if (sequence != last_ + 1 || parsed.previous_hash != hash_) {
    return DataLoss("the audit log is broken: record {} does not follow record {}", sequence,
                    last_);
  }
  ++count_;
  last_ = sequence;
  hash_ = parsed.hash;
  if (hash_ == wanted_) wanted_sequence_ = sequence;
  return std::move(parsed.record);
}

std::string AuditFileName(uint64_t first_sequence) {
  return fmt::format("{}{:020}{}", kAuditFilePrefix, first_sequence, kAuditFileSuffix);
}

StatusOr<uint64_t> FirstOfAuditFile(std::string_view name) {
  uint64_t first = 0;
  const std::string_view digits = name.substr(std::min(name.size(), kAuditFilePrefix.size()));
  std::from_chars(digits.data(), digits.data() + digits.size(), first);
  if (name == AuditFileName(first)) return first;
  return InvalidArgument("{} is not a file of an audit log", name);
}

StatusOr<std::vector<std::string>> ListAuditFiles(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  std::vector<std::string> files;
  std::copy_if(names.begin(), names.end(), std::back_inserter(files), [](const auto& name) {
    return name.starts_with(kAuditFilePrefix) && name.ends_with(kAuditFileSuffix);
  });
  return files;
}

AuditSummary Summarize(const AuditChain& chain) {
  return {.count = chain.count(),
          .first = chain.first(),
          .last = chain.last(),
          .hash = chain.hash(),
          .wanted_sequence = chain.wanted_sequence()};
}

StatusOr<AuditSummary> VerifyAuditDirectory(const std::string& directory,
                                            const std::string& wanted) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListAuditFiles(directory));
  const auto head_text = ReadFile(JoinPath(directory, kAuditHeadName), 4096);
  if (names.empty() && !head_text.ok()) return NotFound("there is no audit log in {}", directory);
  RETURN_IF_ERROR(WithContext(head_text.status(), "head.json of the audit log is missing"));
  StatusOr<AuditHead> head = ParseAuditHead(*head_text);
  if (!head.ok()) return WithContext(head.status(), directory);
  AuditReader reader(directory, *std::move(head), wanted);
  RETURN_IF_ERROR(reader.Read(names));
  AuditSummary summary = Summarize(reader.chain());
  summary.files = names.size();
  return summary;
}

}  // namespace gp::formats
