#include "confinement/confinement.h"

#include <sys/prctl.h>

#include <cerrno>
#include <utility>

#include "base/log.h"
#include "confinement/file_rules.h"
#include "confinement/system_calls.h"

namespace gp::confinement {
namespace {

FileRules RulesFor(const Permissions& permissions) {
  FileRules rules = SystemFiles(permissions.gpus);
  rules.readable.insert(rules.readable.end(), permissions.readable.begin(),
                        permissions.readable.end());
  rules.writable.insert(rules.writable.end(), permissions.writable.begin(),
                        permissions.writable.end());
  return rules;
}

// A kernel without the feature only causes a log entry; it does not stop the process.
Status UnlessMissing(const Status& status) {
  return status.code() == StatusCode::kUnimplemented ? OkStatus() : status;
}

void Join(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }

}  // namespace

Offer WhatConfines() {
  Offer offer;
  if (const int version = LandlockVersion(); version > 0) {
    Join(offer.has, fmt::format("files (Landlock {})", version));
  } else {
    Join(offer.missing, "files (Landlock, Linux 5.13 or later, among the kernel's lsm=)");
  }
  if (HasSystemCallFilters()) {
    Join(offer.has, "system calls (seccomp)");
  } else {
    Join(offer.missing, "system calls (seccomp)");
  }
  return offer;
}

Status Confine(const Permissions& permissions) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return ErrnoStatus(errno, "set no_new_privs of", "this process");
  }
  RETURN_IF_ERROR(UnlessMissing(RestrictFiles(RulesFor(permissions))));
  RETURN_IF_ERROR(UnlessMissing(DenySystemCalls()));
  const Offer offer = WhatConfines();
  if (offer.missing.empty()) {
    LogInfo("confined", {{"to", offer.has}});
  } else {
    LogWarning("not fully confined",
               {{"to", offer.has.empty() ? "nothing" : offer.has}, {"lacks", offer.missing}});
  }
  return OkStatus();
}

}  // namespace gp::confinement
