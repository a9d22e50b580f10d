#include "client/gpctl/render/access_text.h"

#include <google/protobuf/util/time_util.h>

#include <map>

#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/table.h"
#include "rpc/timestamp.h"

namespace gp::gpctl {
namespace {

using google::protobuf::util::TimeUtil;

double SecondsOf(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds());
}

std::string TokenState(const v1::TokenInfo& token, double now) {
  if (token.has_revoked_at()) return "revoked";
  if (token.has_expires_at() && SecondsOf(token.expires_at()) <= now) return "expired";
  if (token.uses() > 0 && token.uses() >= token.uses_max()) return "used";
  return "good";
}

std::string JoinText(const v1::TokenInfo& token) {
  if (token.uses_max() <= 1) return "joins one node";
  return fmt::format("joins {} nodes, {} joined", token.uses_max(), token.uses());
}

std::string ExpiryText(const v1::TokenInfo& token) {
  if (!token.has_expires_at()) return "never";
  return TimeUtil::ToString(token.expires_at()).substr(0, 16) + "Z";
}

std::string LastUse(const v1::TokenInfo& token, double now) {
  return token.has_last_used_at() ? AgoText(now - SecondsOf(token.last_used_at())) : "never";
}

// Sorted, so that the same roles make the same text.
std::map<std::string, std::string> Sorted(
    const google::protobuf::Map<std::string, std::string>& roles) {
  return {roles.begin(), roles.end()};
}

Json RolesJson(const google::protobuf::Map<std::string, std::string>& roles) {
  Json json = Json::object();
  for (const auto& [name, role] : Sorted(roles)) json[name] = role;
  return json;
}

void AddTime(const char* key, bool has, const google::protobuf::Timestamp& time, Json& json) {
  if (has) json[key] = TimeUtil::ToString(time);
}

}  // namespace

std::string RolesText(const google::protobuf::Map<std::string, std::string>& roles) {
  std::string text;
  for (const auto& [name, role] : Sorted(roles)) {
    if (!text.empty()) text += ", ";
    text += role + " in " + (name == "*" ? "every namespace" : name);
  }
  return text.empty() ? "none" : text;
}

Json TokenFields(const v1::TokenInfo& token) {
  Json json = {{"id", token.id()},
               {"kind", token.kind()},
               {"name", token.name()},
               {"roles", RolesJson(token.roles())},
               {"created_by", token.created_by()}};
  AddTime("created_at", token.has_created_at(), token.created_at(), json);
  AddTime("expires_at", token.has_expires_at(), token.expires_at(), json);
  AddTime("last_used_at", token.has_last_used_at(), token.last_used_at(), json);
  AddTime("revoked_at", token.has_revoked_at(), token.revoked_at(), json);
  if (token.kind() != "join") return json;
  json["uses_max"] = token.uses_max();
  json["uses"] = token.uses();
  if (!token.redeemed_by().empty()) json["redeemed_by"] = token.redeemed_by();
  return json;
}

Json CallerFields(const v1::WhoAmIResponse& caller) {
  Json json = {{"name", caller.name()}, {"roles", RolesJson(caller.roles())}};
  if (!caller.token_id().empty()) json["token_id"] = caller.token_id();
  AddTime("expires_at", caller.has_expires_at(), caller.expires_at(), json);
  return json;
}

std::string TokenTable(const std::vector<v1::TokenInfo>& tokens, double now,
                       const TextStyle& style) {
  Table table({{"ID"}, {"KIND"}, {"NAME"}, {"STATE"}, {"EXPIRES"}, {"LAST USED"}, {"ROLES"}});
  for (const v1::TokenInfo& token : tokens) {
    const bool joins = token.kind() == "join";
    table.AddRow({OneSafeLine(token.id(), style.utf8), OneSafeLine(token.kind(), style.utf8),
                  OneSafeLine(token.name(), style.utf8), TokenState(token, now), ExpiryText(token),
                  LastUse(token, now),
                  joins ? JoinText(token) : OneSafeLine(RolesText(token.roles()), style.utf8)});
  }
  return table.Render(style.width, style.utf8);
}

std::string AuditTable(const std::vector<formats::AuditRecord>& records, const TextStyle& style) {
  Table table(
      {{"#", Align::kRight}, {"TIME"}, {"WHO"}, {"FROM"}, {"WHAT"}, {"OUTCOME"}, {"ABOUT"}});
  for (const formats::AuditRecord& record : records) {
    const auto time = rpc::ToTimestamp(record.at.time_since_epoch().count());
    const std::string method = record.method.substr(record.method.rfind('.') + 1);
    const std::string count = record.count > 1 ? fmt::format(" x {}", record.count) : "";
    const std::string about = record.message.empty() ? record.target : record.message;
    const auto safe = [&](const std::string& text) { return OneSafeLine(text, style.utf8); };
    table.AddRow({std::to_string(record.sequence), TimeUtil::ToString(time).substr(0, 19) + "Z",
                  safe(record.principal), safe(record.address), safe(method),
                  safe(record.outcome) + count, safe(about)});
  }
  return table.Render(style.width, style.utf8);
}

}  // namespace gp::gpctl
