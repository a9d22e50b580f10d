// NotificationTarget: where notifications are sent, as the operator configured it. Its secrets are
// in files, which are read for each notification, so that they can be replaced without a restart. A
// value.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/notifications/occasion.h"
#include "coordinator/state/run.h"

namespace gp::coordinator {

enum class TargetKind { kWebhook = 0, kSlack = 1 };

// "webhook", "slack": by their number.
const std::vector<std::string>& TargetKindNames();

// The runs of the target's namespaces that it is notified of: all, or those that name it (the key
// `notify` of their run files).
enum class TargetRuns { kAll = 0, kNamed = 1 };

// "all", "named": by their number.
const std::vector<std::string>& TargetRunsNames();

struct NotificationTarget {
  std::string name;
  TargetKind kind = TargetKind::kWebhook;
  std::string url;          // empty: it is in url_file
  std::string url_file;     // for a URL that is itself a secret, as Slack's are
  std::string secret_file;  // of the signature; webhooks only
  std::set<Occasion> events;
  std::set<std::string> namespaces;  // empty: every namespace
  TargetRuns runs = TargetRuns::kAll;
  bool allow_private_addresses = false;

  // Whether it may be notified of runs of this namespace.
  bool Serves(const std::string& run_namespace) const;
  bool Wants(Occasion occasion, const Run& run) const;
};

struct NotificationTargets {
  std::chrono::nanoseconds waiting_longer_than = std::chrono::minutes(30);
  std::vector<NotificationTarget> targets;
};

// InvalidArgument unless it is an http or https URL with a host and without a user name. Plain http
// only with `allow_plain`. The message never quotes the URL's path, which may be a secret.
Status CheckUrl(const std::string& url, bool allow_plain);

// The target's URL, from its file if it is there. Errors name the file.
StatusOr<std::string> ReadUrl(const NotificationTarget& target);
// The secret without the line break at its end. At least kSecretBytesMin long.
StatusOr<std::string> ReadSecret(const NotificationTarget& target);

inline constexpr size_t kSecretBytesMin = 16;

}  // namespace gp::coordinator
