#include "rpc/token.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/random_id.h"
#include "base/secret_file.h"

namespace gp::rpc {
namespace {

constexpr size_t kIdCharacters = 10;
constexpr size_t kSecretBytes = 32;
constexpr size_t kHexCharacters = 2 * kSecretBytes;  // length of a secret and of a SHA-256
constexpr uint64_t kFileBytesMax = 4096;
constexpr std::string_view kUserPrefix = "gp_user_";
constexpr std::string_view kJoinPrefix = "gp_join_";

std::string_view PrefixOf(TokenKind kind) {
  return kind == TokenKind::kUser ? kUserPrefix : kJoinPrefix;
}

bool ConsistsOf(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

bool IsId(std::string_view text) {
  return text.size() == kIdCharacters && ConsistsOf(text, "0123456789abcdefghjkmnpqrstvwxyz");
}

bool IsHex(std::string_view text) {
  return text.size() == kHexCharacters && ConsistsOf(text, "0123456789abcdef");
}

std::optional<TokenKind> TakeKind(std::string_view& text) {
  for (const TokenKind kind : {TokenKind::kUser, TokenKind::kJoin}) {
    if (!text.starts_with(PrefixOf(kind))) continue;
    text.remove_prefix(PrefixOf(kind).size());
    return kind;
  }
  return std::nullopt;
}

// Removes the characters before the next "_", and that character, from the front of `text`.
std::string_view TakePart(std::string_view& text) {
  const size_t end = text.find('_');
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

}  // namespace

const char* Name(TokenKind kind) { return kind == TokenKind::kUser ? "user" : "join"; }

Token MakeToken(TokenKind kind, const std::string& ca_digest) {
  return {kind, RandomId(kIdCharacters), RandomHex(kSecretBytes), ca_digest};
}

std::string TokenText(const Token& token) {
  std::string text(PrefixOf(token.kind));
  text += token.id + "_" + token.secret;
  if (!token.ca_digest.empty()) text += "_" + token.ca_digest;
  return text;
}

StatusOr<Token> ParseToken(std::string_view text) {
  const Status malformed = InvalidArgument(
      "this is not a token; expected the one line that 'gpctl token create' printed, which begins "
      "with {} or {}",
      kUserPrefix, kJoinPrefix);
  // Refuses text that is too long without parsing it.
  if (text.size() > kUserPrefix.size() + kIdCharacters + 2 * kHexCharacters + 2) return malformed;
  const std::optional<TokenKind> kind = TakeKind(text);
  if (!kind) return malformed;
  Token token{.kind = *kind};
  token.id = TakePart(text);
  const bool has_digest = text.find('_') != std::string_view::npos;
  token.secret = TakePart(text);
  token.ca_digest = text;
  const bool digest_fits = has_digest ? IsHex(token.ca_digest) : token.ca_digest.empty();
  if (!IsId(token.id) || !IsHex(token.secret) || !digest_fits) return malformed;
  return token;
}

StatusOr<Token> ReadTokenFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string content, ReadSecretFile(path, kFileBytesMax));
  std::string_view text = content;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  StatusOr<Token> token = ParseToken(text);
  if (!token.ok()) return WithContext(token.status(), path);
  return token;
}

}  // namespace gp::rpc
