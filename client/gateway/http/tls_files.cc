#include "client/gateway/http/tls_files.h"

#include <utility>

#include "base/log.h"
#include "client/gateway/http/file_stamp.h"

namespace gp::gateway {
namespace {

std::string StampOfPair(const std::string& certificate, const std::string& key) {
  return StampOf(certificate) + " " + StampOf(key);
}

}  // namespace

struct TlsFiles::Reading {
  std::string stamp;
  StatusOr<std::unique_ptr<TlsContext>> context = NotFound("");
};

StatusOr<std::unique_ptr<TlsFiles>> TlsFiles::Open(const std::string& certificate,
                                                   const std::string& key) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(certificate, key));
  files->stamp_ = StampOfPair(certificate, key);
  ASSIGN_OR_RETURN(files->context_, TlsContext::Read(certificate, key));
  return files;
}

void TlsFiles::Watch(EventLoop& loop, WorkPool& pool, std::chrono::nanoseconds period) {
  timer_ = loop.Every(period, [this, &pool] { Reread(pool); });
}

void TlsFiles::Reread(WorkPool& pool) {
  if (reading_) return;
  auto reading = std::make_shared<Reading>();
  const auto work = [reading, certificate = certificate_, key = key_, known = stamp_] {
    reading->stamp = StampOfPair(certificate, key);
    if (reading->stamp != known) reading->context = TlsContext::Read(certificate, key);
  };
  const auto done = [this, reading] {
    reading_ = false;
    if (reading->stamp == stamp_) return;
    stamp_ = reading->stamp;
    if (reading->context.ok()) {
      context_->Take(std::move(**reading->context));
      problem_.clear();
      LogInfo("the certificate was read again", {{"file", certificate_}});
    } else if (const std::string problem = Message(reading->context.status());
               problem != problem_) {
      problem_ = problem;
      LogWarning("the new certificate cannot be used; the one before it stays",
                 {{"error", problem}});
    }
  };
  reading_ = pool.Submit(work, done);
}

}  // namespace gp::gateway
