#include "client/gpctl/error_text.h"

#include <nlohmann/json.hpp>

#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {

std::string ErrorText(const Status& status, ExitCode code, bool json) {
  const std::string message = SafeText(Message(status), true);
  if (json) {
    const nlohmann::ordered_json document = {
        {"apiVersion", "gp/v1"},
        {"kind", "Error"},
        {"error", {{"code", static_cast<int>(code)}, {"message", message}}}};
    return document.dump(2) + "\n";
  }
  // A list of located problems already has "error:" in each line.
  const bool located = message.find("error: ") != std::string::npos;
  return (located ? "" : "error: ") + message +
         (message.empty() || message.back() != '\n' ? "\n" : "");
}

}  // namespace gp::gpctl
