#include "cli/serve_options.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "cli/byte_size.h"
#include "cli/serve_models.h"
#include "device/cpu_info.h"

namespace hone::cli {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr double kMostSeconds = 1e6;  // seconds
constexpr int64_t kPorts = 65535;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1e3));
}

/// The connections that may be open; more than the system allows are an error where they were
/// asked for.
size_t fit_file_limit(int64_t asked) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return http::ServerOptions{}.connections;
  const auto wanted =
      asked > 0 ? static_cast<rlim_t>(asked) : rlim_t{http::ServerOptions{}.connections};
  const rlim_t needed = wanted + http::kFilesBesideConnections;
  if (limit.rlim_cur < needed) {
    limit.rlim_cur = std::min(needed, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (asked > 0 && limit.rlim_cur < needed) {
    fail(ErrorKind::usage,
         "--max-connections: {} need {} open files, but the limit is {}; see ulimit -n", wanted,
         needed, limit.rlim_cur);
  }
  constexpr rlim_t kLeast = 2 * http::kFilesBesideConnections;
  if (limit.rlim_cur < kLeast) {
    fail(ErrorKind::usage, "the limit of open files is {}, a server needs {}; see ulimit -n",
         limit.rlim_cur, kLeast);
  }
  return std::min(wanted, limit.rlim_cur - http::kFilesBesideConnections);
}

std::string read_key(const ServeFlags& flags) {
  if (flags.api_key_file.empty()) return flags.api_key;
  if (!flags.api_key.empty()) {
    fail(ErrorKind::usage, "--api-key-file: --api-key is given too; use one of them");
  }
  constexpr uint64_t kLongestKey = 4096;
  std::string key = read_file(flags.api_key_file, kLongestKey);
  while (!key.empty() && (key.back() == '\n' || key.back() == '\r')) key.pop_back();
  if (key.empty()) {
    fail(ErrorKind::bad_file, "{}: expected an API key, got nothing", flags.api_key_file);
  }
  return key;
}

void check_key(const std::string& key) {
  for (const char c : key) {
    if (c <= 0x20 || c >= 0x7f) {
      fail(ErrorKind::usage, "--api-key: expected visible ASCII characters, no spaces");
    }
  }
}

/// Values may be given one by one, or separated by commas.
std::vector<std::string> split_list(const std::vector<std::string>& given) {
  std::vector<std::string> out;
  for (const std::string& value : given) {
    for (size_t at = 0; at <= value.size();) {
      const size_t end = std::min(value.find(',', at), value.size());
      if (end > at) out.push_back(value.substr(at, end - at));
      at = end + 1;
    }
  }
  return out;
}

}  // namespace

void declare(Arguments& arguments, ServeFlags& flags) {
  arguments.texts("--model,--model_name_or_path,--model-id", "DIR", flags.models,
                  "folder, or NAME=DIR; may be repeated");
  arguments.text("--hostname", "ADDRESS", flags.hostname, "to listen on; default: 0.0.0.0");
  arguments.integer("--port", 0, kPorts, flags.port, "default: 3000; 0: a free one");
  arguments.integer("--max-concurrent-requests", 1, kMost, flags.max_concurrent_requests,
                    "texts at one time; default: 512");
  arguments.integer("--max-batch-tokens", 1, kMost, flags.max_batch_tokens, "default: 16384");
  arguments.integer("--max-batch-requests", 1, kMost, flags.max_batch_requests,
                    "texts of a batch; default: no limit");
  arguments.integer("--max-client-batch-size", 1, kMost, flags.max_client_batch_size,
                    "texts of one request; default: 32");
  arguments.flag("--auto-truncate", flags.auto_truncate,
                 "cut longer texts (default); false: refuse them");
  arguments.text("--payload-limit", "SIZE", flags.payload_limit, "of a body; default: 2000000");
  arguments.text("--api-key", "KEY", flags.api_key, "that clients have to send");
  arguments.text("--api-key-file", "FILE", flags.api_key_file, "the same, not seen by others");
  arguments.text("--tls-cert", "FILE", flags.tls_certificate, "PEM, with its chain: HTTPS");
  arguments.text("--tls-key", "FILE", flags.tls_key, "PEM");
  arguments.flag("--json-output", flags.json_output, "the log as JSON lines; --quiet: no log");
  arguments.real("--drain-seconds", 0, kMostSeconds, flags.drain_seconds,
                 "to answer accepted requests; default: 30");
  arguments.text("--pooling", "HOW", flags.pooling, "vectors, not labels: mean, cls or max");
  arguments.advanced();
  arguments.text("--served-model-name", "NAME", flags.served_name,
                 "of a single model; default: its folder's");
  arguments.texts("--cors-allow-origin", "ORIGIN", flags.cors_origins,
                  "sites whose pages may ask; * for all; default: none");
  arguments.integer("--prometheus-port", 0, kPorts, flags.prometheus_port,
                    "metrics on a port of their own too");
  arguments.integer("--max-queue-tokens", 0, std::numeric_limits<int64_t>::max(),
                    flags.max_queue_tokens, "that wait or compute; default: by the texts");
  arguments.real("--max-queue-seconds", 0, kMostSeconds, flags.max_queue_seconds,
                 "that those take, beyond 128 texts; default: 0.75; 0: any");
  arguments.integer("--max-connections", 1, kMost, flags.connections, "default: 16000");
  arguments.integer("--max-header-bytes", 256, kMost, flags.header_bytes, "default: 16384");
  arguments.integer("--max-header-fields", 1, kMost, flags.header_fields, "default: 100");
  arguments.real("--header-seconds", 0.001, kMostSeconds, flags.header_seconds,
                 "for a request's header; default: 10");
  arguments.real("--body-seconds", 0.001, kMostSeconds, flags.body_seconds,
                 "for its body; default: 30");
  arguments.real("--write-seconds", 0.001, kMostSeconds, flags.write_seconds,
                 "for a client to take its answer; default: 30");
  arguments.real("--idle-seconds", 0.001, kMostSeconds, flags.idle_seconds,
                 "between two requests; default: 75");
  arguments.integer("--io-threads", 1, 256, flags.io_threads, "default: one for 8 cores");
  arguments.integer("--max_seq_length", 1, 1 << 20, flags.max_length,
                    "most tokens of a text; default: the model's");
  arguments.text("--memory-budget", "SIZE", flags.memory_budget,
                 "most memory to use, such as 64MB: streams weights");
  arguments.flag("--no_plan", flags.no_plan, kNoPlanHelp);
  declare(arguments, flags.exits);
  arguments.replaced("--tokenization-workers", "use --threads, which texts are tokenised by too");
  arguments.replaced("--max-batch-size", "use --max-batch-requests");
  arguments.replaced("--revision", "hone never downloads; --model takes a folder");
  arguments.replaced("--uds-path", "use --hostname and --port");
  arguments.allow_devices();
  // Not HOSTNAME: shells and containers set it to the machine's own name.
  arguments.read_environment(
      "HONE", {"--model-id", "--served-model-name", "--port", "--max-concurrent-requests",
               "--max-batch-tokens", "--max-batch-requests", "--max-client-batch-size",
               "--auto-truncate", "--payload-limit", "--api-key", "--cors-allow-origin",
               "--prometheus-port", "--json-output", "--pooling", "--dtype"});
}

http::ServerOptions server_options(const ServeFlags& flags) {
  http::ServerOptions options;
  options.address = flags.hostname;
  options.port = static_cast<uint16_t>(flags.port);
  constexpr int kCoresPerThread = 8;
  options.threads = flags.io_threads > 0 ? static_cast<int>(flags.io_threads)
                                         : std::max(1, usable_cores() / kCoresPerThread);
  if (flags.tls_certificate.empty() != flags.tls_key.empty()) {
    fail(ErrorKind::usage, "{}: missing; HTTPS needs --tls-cert and --tls-key",
         flags.tls_key.empty() ? "--tls-key" : "--tls-cert");
  }
  if (!flags.tls_key.empty()) options.tls = http::TlsFiles{flags.tls_certificate, flags.tls_key};
  options.header_bytes = static_cast<size_t>(flags.header_bytes);
  options.header_fields = static_cast<size_t>(flags.header_fields);
  options.body_bytes = parse_bytes("--payload-limit", flags.payload_limit);
  options.connections = fit_file_limit(flags.connections);
  options.header_time = milliseconds(flags.header_seconds);
  options.body_time = milliseconds(flags.body_seconds);
  options.write_time = milliseconds(flags.write_seconds);
  options.idle_time = milliseconds(flags.idle_seconds);
  return options;
}

serve::ServiceOptions service_options(const ServeFlags& flags, const CommonOptions& common) {
  serve::ServiceOptions options;
  options.models = model_specs(flags, common);
  options.api_key = read_key(flags);
  check_key(options.api_key);
  options.cors.origins = split_list(flags.cors_origins);
  options.facts.max_concurrent_requests = flags.max_concurrent_requests;
  options.facts.max_client_batch_size = flags.max_client_batch_size;
  options.facts.auto_truncate = flags.auto_truncate;
  using Format = serve::RequestLog::Format;
  options.log = common.quiet ? Format::none : flags.json_output ? Format::json : Format::plain;
  options.log_descriptor = STDOUT_FILENO;
  return options;
}

}  // namespace hone::cli
