#include "coordinator/access/principal.h"

namespace gp::coordinator {

std::string Principal::Text() const {
  switch (kind) {
    case Kind::kNobody:
      return "nobody";
    case Kind::kOwner:
      return "owner";
    case Kind::kAnyone:
      return "anyone";
    case Kind::kUser:
      return "user " + name;
    case Kind::kNode:
      return "node " + name;
  }
  return "?";
}

}  // namespace gp::coordinator
