// Token: the secret text by which a user proves who he is (kind user), or by which a machine joins
// as a node, once (kind join). Text form, one line of letters, digits and "_":
//
//   gp_user_<id>_<secret>[_<digest of the CA>]        gp_join_…
//
// The id is public: it stands in lists, in the audit log and in messages. The secret never does.
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

// The token in a file of one line that nobody else may read. Errors name the file, never what is in
// it.
StatusOr<Token> ReadTokenFile(const std::string& path);

}  // namespace gp::rpc
