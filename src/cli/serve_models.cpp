#include "cli/serve_models.h"

#include <algorithm>

#include "base/error.h"
#include "cli/byte_size.h"
#include "device/cuda.h"
#include "infer/model_facts.h"
#include "infer/model_options.h"
#include "models/folder.h"

namespace hone::cli {
namespace {

struct NamedFolder {
  std::string name;
  std::string folder;
};

/// "NAME=DIR", or a folder whose last part is the name.
NamedFolder named_folder(const std::string& given) {
  const size_t equals = given.find('=');
  const size_t slash = given.find('/');
  if (equals != std::string::npos && (slash == std::string::npos || equals < slash)) {
    NamedFolder named{given.substr(0, equals), given.substr(equals + 1)};
    if (named.name.empty() || named.folder.empty()) {
      fail(ErrorKind::usage, "--model: expected DIR or NAME=DIR, got {}", quote(given));
    }
    return named;
  }
  std::string name = given;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  name = name.substr(name.rfind('/') + 1);
  return {name.empty() || name == "." || name == ".." ? "model" : name, given};
}

Pooling pooling_of(const std::string& name) {
  if (name.empty()) return Pooling::automatic;
  if (name == "mean") return Pooling::mean;
  if (name == "cls") return Pooling::cls;
  if (name == "max") return Pooling::max;
  fail(ErrorKind::usage, "--pooling: expected mean, cls or max, got {}", quote(name));
}

std::vector<std::string> device_list(const std::string& given) {
  std::vector<std::string> devices;
  for (size_t at = 0; at <= given.size();) {
    const size_t end = std::min(given.find(',', at), given.size());
    devices.push_back(given.substr(at, end - at));
    at = end + 1;
  }
  return devices;
}

void check_memory(const std::string& folder, const infer::SessionOptions& session) {
  if (session.memory_budget > 0 || select_device(session.device)) return;
  const std::string missing = infer::missing_memory(folder, {session.dtype, session.threads});
  if (missing.empty()) return;
  fail(ErrorKind::usage, "{}: {}; `memory_budget` streams the weights", folder, missing);
}

serve::ModelSettings settings_of(const std::string& folder, const ServeFlags& flags,
                                 const CommonOptions& common) {
  if (models::samples_of(folder) != data::SampleKind::text) {
    fail(ErrorKind::unsupported, "{}: reads images; hone serves models of texts", folder);
  }
  ModelOptions options;
  options.pooling = pooling_of(flags.pooling);
  if (options.pooling != Pooling::automatic) options.use = Use::embed;
  options.threads = common.threads;
  options.max_length = flags.max_length;
  options.tuning = common.tuning;
  if (!flags.memory_budget.empty()) {
    options.memory_budget = parse_bytes("--memory-budget", flags.memory_budget);
  }
  serve::ModelSettings settings;
  settings.folder = folder;
  settings.session = infer::session_options(folder, options);
  settings.session.dtype = common.wanted_dtype();
  settings.session.planned = !flags.no_plan;
  settings.session.normalize = false;  // requests say whether they want it
  apply(flags.exits, settings.session);
  settings.devices = device_list(common.device);
  settings.max_batch_tokens = flags.max_batch_tokens;
  settings.max_batch_requests = flags.max_batch_requests;
  settings.max_queue_inputs = flags.max_concurrent_requests;
  settings.max_queue_tokens = flags.max_queue_tokens;
  settings.max_queue_seconds = flags.max_queue_seconds;
  settings.session.device = settings.devices.front();
  check_memory(folder, settings.session);
  return settings;
}

}  // namespace

std::vector<serve::ModelSpec> model_specs(const ServeFlags& flags, const CommonOptions& common) {
  require_model(flags.models.empty() ? "" : flags.models.front());
  std::vector<serve::ModelSpec> specs;
  for (const std::string& given : flags.models) {
    NamedFolder named = named_folder(given);
    if (!flags.served_name.empty()) {
      if (flags.models.size() > 1) {
        fail(ErrorKind::usage, "--served-model-name: for one model; with several use NAME=DIR");
      }
      named.name = flags.served_name;
    }
    for (const serve::ModelSpec& other : specs) {
      if (other.name == named.name) {
        fail(ErrorKind::usage, "--model: two have the name {}; use NAME=DIR", quote(named.name));
      }
    }
    specs.push_back({named.name, [folder = named.folder, flags, common] {
                       return settings_of(folder, flags, common);
                     }});
  }
  return specs;
}

}  // namespace hone::cli
