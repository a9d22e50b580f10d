#include "client/gateway/daemon.h"

#include <malloc.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/machine/usable_cores.h"
#include "base/stop_signals.h"
#include "client/gateway/completions/completion_routes.h"
#include "client/gateway/metrics.h"
#include "client/gateway/models/model_service.h"
#include "client/gateway/models/sampler_memory.h"
#include "client/gateway/page_store.h"
#include "client/gateway/runs/runs_api.h"
#include "client/gateway/sampler_choice.h"
#include "client/gateway/status_routes.h"
#include "daemon/address_file.h"
#include "daemon/metrics_exposer.h"
#include "http/api_keys.h"
#include "http/server.h"
#include "http/tls_context.h"
#include "rpc/grpc_log.h"
#include "rpc/listen_address.h"
#include "rpc/status.h"
#include "rpc/tls.h"
#include "rpc/token.h"

namespace gp::gateway {
namespace {

constexpr std::chrono::seconds kFilesPeriod{1};  // how often key and certificate files are checked
constexpr std::chrono::seconds kObservePeriod{1};
// At shutdown: the time for sending pending responses after unfinished texts have been aborted.
constexpr std::chrono::milliseconds kFarewell{500};

ModelPoolOptions PoolOptions(const GatewaySettings& settings) {
  const uint64_t memory = settings.sampler_memory_limit > 0
                              ? static_cast<uint64_t>(settings.sampler_memory_limit)
                              : DefaultSamplerMemory();
  ModelPoolOptions options;
  options.command = {.program = settings.sampler_program.empty() ? SamplerBesideThisProgram()
                                                                 : settings.sampler_program,
                     .version = GP_VERSION};
  options.threads = settings.sampler_threads > 0 ? settings.sampler_threads : CountUsableCores();
  options.streams = settings.sampler_streams;
  options.precision = settings.sampler_precision;
  options.memory_bytes_max = memory;
  options.requests_waiting_max = static_cast<size_t>(settings.requests_waiting_max);
  options.request_timeout = settings.request_timeout;
  options.start_timeout = settings.sampler_start_timeout;
  options.stall_timeout = settings.sampler_stall_timeout;
  const SamplerMemoryOptions sizes{.precision = options.precision,
                                   .threads = options.threads,
                                   .streams = options.streams,
                                   .memory_bytes_max = memory};
  options.memory_bytes = [sizes](const CheckpointFacts& facts) {
    return SamplerMemory(facts.manifest, sizes);
  };
  return options;
}

http::ServerLimits Limits(const GatewaySettings& settings) {
  http::ServerLimits limits{.connections_max = settings.connections_max,
                            .body_bytes_max = static_cast<size_t>(settings.body_bytes_max),
                            .header_timeout = settings.header_timeout,
                            .body_timeout = settings.body_timeout,
                            .idle_timeout = settings.idle_timeout,
                            .ping_period = settings.ping_period};
  // One client may hold as much as is still free, so at most half of the total. Four times the
  // largest body leaves room for it.
  limits.held_bytes_max = std::max(limits.held_bytes_max, 4 * limits.body_bytes_max);
  return limits;
}

daemon::MetricsPlace MetricsPlaceOf(const GatewaySettings& settings) {
  daemon::MetricsPlace place{.listen = settings.metrics_listen,
                             .keys_file = settings.metrics_keys_file};
  if (daemon::MetricsUseTls(MetricsAccessOf(settings))) {
    place.tls = {
        .certificate = settings.tls_certificate, .key = settings.tls_key, .newest_only = true};
  }
  return place;
}

std::vector<NamedDirectory> Directories(const GatewaySettings& settings) {
  std::vector<NamedDirectory> directories;
  for (const std::string& text : settings.directories) {
    directories.push_back(ParseNamedDirectory(text).value());  // checked by CheckSettings
  }
  return directories;
}

void LogExchange(const http::ExchangeRecord& record) {
  const double milliseconds = std::chrono::duration<double, std::milli>(record.duration).count();
  const http::ExchangeNotes& notes = record.notes;
  const std::string who = record.key_name.empty() ? record.client_address : record.key_name;
  const std::string duration = fmt::format("{:.1f}", milliseconds);
  if (notes.model.empty()) {
    return LogInfo("request", {{"method", record.method},
                               {"target", record.target},
                               {"status", record.status},
                               {"bytes", record.bytes},
                               {"ms", duration},
                               {"client", who},
                               {"id", record.request_id}});
  }
  LogInfo("request", {{"method", record.method},
                      {"target", record.target},
                      {"status", record.status},
                      {"bytes", record.bytes},
                      {"ms", duration},
                      {"client", who},
                      {"id", record.request_id},
                      {"model", notes.model},
                      {"prompt_tokens", notes.prompt_tokens},
                      {"tokens", notes.tokens},
                      {"gone", notes.gone}});
}

// The options for reaching the coordinator: its address, the CA of its certificate and the token.
StatusOr<RunBoardOptions> BoardOptions(const GatewaySettings& settings) {
  RunBoardOptions options{.address = settings.coordinator};
  if (!settings.coordinator_ca.empty()) {
    options.tls = rpc::ChannelTls{.ca = settings.coordinator_ca};
    RETURN_IF_ERROR(WithContext(rpc::CheckTls(*options.tls), "coordinator.ca"));
  }
  if (settings.coordinator_token_file.empty()) return options;
  const auto token = rpc::ReadTokenFile(settings.coordinator_token_file);
  if (!token.ok()) return WithContext(token.status(), "coordinator.token_file");
  options.credentials.token = rpc::TokenText(*token);
  return options;
}

// The reason why a run of the coordinator is not served as a model. `sealed`: the number of runs
// with sealed checkpoints.
Status WhyNotServed(const v1::Run& run, size_t sealed) {
  const std::string name = fmt::format("run '{}' ({})", run.name(), run.run_id());
  if (run.latest_checkpoint_step() < 0) {
    return NotFound("{} has no sealed checkpoint, so it is not a model yet", name);
  }
  if (sealed < RunSurvey::kRunsMax) {
    return Unavailable("the checkpoints of {} are not known yet; try again in a second", name);
  }
  return NotFound(
      "{} exists, but is not served: the gateway serves unfinished runs and the newest finished "
      "ones, {} in all; to serve this one, start a gateway with --model {}={}",
      name, RunSurvey::kRunsMax, run.name(), run.run_directory());
}

// If the coordinator knows more of a missing run than that it does not exist, its text: who deleted
// it, and when. OK otherwise.
Status WhyMissing(const Status& missing) {
  return rpc::ReasonOf(missing) == rpc::kRunDeleted ? NotFound("{}", Message(missing)) : OkStatus();
}

// The objects that live in the event loop.
class Gateway {
 public:
  Gateway(const GatewaySettings& settings, RunBoardOptions board, http::EventLoop& loop,
          GatewayMetrics& metrics)
      : settings_(settings),
        loop_(loop),
        metrics_(metrics),
        models_(loop, work_,
                {.pool = PoolOptions(settings),
                 .directories = Directories(settings),
                 .scan_period = settings.scan_period,
                 .has_coordinator = !settings.coordinator.empty(),
                 .explain =
                     [this](const std::string& name, const ModelServiceOptions::Explained& then) {
                       runs_.Describe(name, [this, then](const StatusOr<v1::Run>& run) {
                         const size_t sealed = runs_.board().board()->sealed.size();
                         then(run.ok() ? WhyNotServed(*run, sealed) : WhyMissing(run.status()));
                       });
                     }}),
        runs_(loop, {.board = std::move(board), .models = [this](const std::string& run_id) {
                       return models_.catalogue().ModelsOfRun(run_id);
                     }}) {
    AddStatusRoutes({.version = GP_VERSION,
                     .stopping = [this] { return stopping_; },
                     .observe = [this] { Observe(); }},
                    models_, metrics_, router_);
    const auto body_bytes_max = static_cast<size_t>(settings.body_bytes_max);
    AddCompletionRoutes(models_, work_, body_bytes_max, router_);
    AddTokenizerRoutes(models_, work_, body_bytes_max, router_);
    AddModelRoutes(models_, router_);
    AddPageRoutes(BuiltInPages(), router_);
    runs_.AddTo(router_);
    runs_.OnSealed([this](const std::vector<ServedRun>& sealed, bool complete) {
      models_.UpdateRuns(sealed, complete);
    });
  }

  Status Start() {
    if (!settings_.keys_file.empty()) {
      ASSIGN_OR_RETURN(keys_, http::KeyFile::Open(settings_.keys_file));
      keys_->Watch(loop_, work_, kFilesPeriod);
    }
    if (!settings_.tls_certificate.empty()) {
      ASSIGN_OR_RETURN(tls_, http::TlsContext::Read({.certificate = settings_.tls_certificate,
                                                     .key = settings_.tls_key}));
      certificate_watch_.emplace(tls_, loop_, work_, kFilesPeriod);
    }
    ASSIGN_OR_RETURN(rpc::ListenAddress address, rpc::ParseListenAddress(settings_.listen));
    ASSIGN_OR_RETURN(
        server_, http::Server::Start(loop_, {.host = address.host, .port = address.port}, Context(),
                                     tls_.get()));
    address.port = server_->port();
    address_ = address.Reachable().Text();
    observe_timer_ = loop_.Every(kObservePeriod, [this] { Observe(); });
    return OkStatus();
  }

  const std::string& address() const { return address_; }
  std::string Url() const { return (tls_ ? "https://" : "http://") + address_; }

  // Finishes requests in progress, within the configured time, and ends the loop.
  void Stop(const std::string& signal) {
    if (std::exchange(stopping_, true)) return loop_.Stop();
    LogInfo("gateway stops", {{"signal", signal}});
    runs_.EndStreams();
    server_->Drain();
    grace_timer_ = loop_.After(settings_.stop_grace, [this] { EndTexts(); });
    idle_timer_ = loop_.Every(std::chrono::milliseconds(20), [this] {
      if (server_->idle()) loop_.Stop();
    });
  }

 private:
  void EndTexts() {
    models_.pool().FailAll({.status = 503,
                            .message = "the gateway is stopping",
                            .code = "stopping",
                            .retry_after = 5});
    grace_timer_ = loop_.After(kFarewell, [this] { loop_.Stop(); });
  }

  http::ServerContext Context() {
    http::ServerContext context{
        .router = router_, .limits = Limits(settings_), .sites = SiteRulesOf(settings_)};
    if (keys_) {
      context.key_name = [this](std::string_view authorization) {
        return keys_->keys().NameOf(authorization);
      };
    }
    context.finished = [this](const http::ExchangeRecord& record) {
      metrics_.Finished(record);
      if (settings_.log_requests) LogExchange(record);
    };
    return context;
  }

  void Observe() {
    metrics_.Observe(models_.pool().Counts(), server_ ? server_->connections() : 0,
                     models_.catalogue().Aliases().size());
  }

  const GatewaySettings& settings_;
  http::EventLoop& loop_;
  GatewayMetrics& metrics_;
  bool stopping_ = false;
  http::OffloadPool work_{loop_, {}};
  ModelService models_;
  RunsApi runs_;
  http::Router router_;
  std::unique_ptr<http::KeyFile> keys_;
  std::shared_ptr<http::TlsContext> tls_;
  std::optional<http::CertificateWatch> certificate_watch_;
  std::unique_ptr<http::Server> server_;
  std::string address_;
  std::unique_ptr<http::Timer> observe_timer_;
  std::unique_ptr<http::Timer> grace_timer_;
  std::unique_ptr<http::Timer> idle_timer_;
};

// Makes malloc return the memory of large buffers to the system as soon as they are freed, because
// large bodies and responses are short-lived.
void GiveMemoryBack() {
  constexpr int kOwnMappingBytes = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kOwnMappingBytes);
}

}  // namespace

Status RunGateway(const GatewaySettings& settings, const daemon::Runtime& runtime) {
  GiveMemoryBack();
  rpc::InstallGrpcLog();
  GatewayMetrics metrics(GP_VERSION);
  http::EventLoop loop;
  ASSIGN_OR_RETURN(RunBoardOptions board, BoardOptions(settings));
  Gateway gateway(settings, std::move(board), loop, metrics);
  RETURN_IF_ERROR(gateway.Start());
  ASSIGN_OR_RETURN(const auto exposer,
                   daemon::MetricsExposer::Start(MetricsPlaceOf(settings), metrics.page()));
  RETURN_IF_ERROR(
      daemon::WriteAddressFile(runtime.address_file, {gateway.address(), exposer->address()}));
  LogInfo("gateway serves",
          {{"url", gateway.Url()}, {"metrics", exposer->address()}, {"version", GP_VERSION}});
  StopSignals signals(
      [&](const std::string& name) { loop.Post([&gateway, name] { gateway.Stop(name); }); });
  // Run the loop on the main thread: the kernel kills a sampler when the thread that started it
  // ends, and this thread lives as long as the process.
  loop.Run();
  return OkStatus();
}

}  // namespace gp::gateway
