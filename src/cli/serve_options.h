#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/exit_flags.h"
#include "http/http.h"
#include "serve/service.h"

namespace hone::cli {

/// The flags of `hone serve`, spelled as text-embeddings-inference spells them.
struct ServeFlags {
  std::vector<std::string> models;  ///< DIR or NAME=DIR
  std::string served_name;
  std::string hostname = "0.0.0.0";
  int64_t port = 3000;
  int64_t max_concurrent_requests = 512;
  int64_t max_batch_tokens = 16384;
  int64_t max_batch_requests = 0;
  int64_t max_client_batch_size = 32;
  int64_t max_queue_tokens = 0;
  double max_queue_seconds = 0.75;
  bool auto_truncate = true;
  std::string payload_limit = "2000000";
  std::string api_key;
  std::string api_key_file;
  std::vector<std::string> cors_origins;
  int64_t prometheus_port = -1;
  bool json_output = false;
  std::string tls_certificate;
  std::string tls_key;
  double drain_seconds = 30;
  int64_t connections = 0;  ///< 0: what the file limit allows, up to the default
  int64_t header_bytes = 16 * 1024;
  int64_t header_fields = 100;
  double header_seconds = 10;
  double body_seconds = 30;
  double write_seconds = 30;
  double idle_seconds = 75;
  int64_t io_threads = 0;  ///< 0: by the cores
  int64_t max_length = 0;
  std::string memory_budget;
  std::string pooling;
  bool no_plan = false;
  ExitFlags exits;
};

void declare(Arguments& arguments, ServeFlags& flags);

/// What the flags mean; mistakes are usage errors that name them. Raises the process's limit of
/// open files to what the connections need.
http::ServerOptions server_options(const ServeFlags& flags);
serve::ServiceOptions service_options(const ServeFlags& flags, const CommonOptions& common);

}  // namespace hone::cli
