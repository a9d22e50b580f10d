// Token: the secret text with which a user authenticates (kind user), or with which a machine joins
// as a node, once (kind join). Text form, one line of letters, digits and "_":
//   gp_user_<id>_<secret>[_<digest of the CA>]        gp_join_…
// The id is public: it is shown in lists, in the audit log and in messages. The secret never is.
// Values; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::rpc {

enum class TokenKind { kUser, kJoin };

// "user" or "join".
const char* Name(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::kUser;
  std::string id;         // 10 characters of Crockford base32
  std::string secret;     // 256 random bits, 64 lower-case hexadecimal digits
  std::string ca_digest;  // SHA-256 of the CA's certificate, 64 hexadecimal digits; or empty

  bool operator==(const Token&) const = default;
};

// A token with a fresh id and secret.
Token MakeToken(TokenKind kind, const std::string& ca_digest);

// The text form. It holds the secret.
std::string TokenText(const Token& token);

// InvalidArgument when the text has another form; the message does not repeat the text.
StatusOr<Token> ParseToken(std::string_view text);

// The token in a one-line file that no other user may read. Errors name the file, never its
// contents.
StatusOr<Token> ReadTokenFile(const std::string& path);

}  // namespace gp::rpc
