#include "train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/content_hash.h"
#include "io/weights.h"
#include "models/save.h"
#include "models/store.h"

namespace hone::train {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostStateBytes = uint64_t{1} << 30;
constexpr int64_t kFormat = 2;  // of trainer_state.json too
constexpr const char* kManifest = "/checkpoint.json";
constexpr const char* kState = "/trainer_state.json";

std::string hash_file(const std::string& path) {
  data::ContentHash hash;
  hash.file(path);
  return data::hex(hash.value());
}

Json hash_files(const std::string& folder) {
  Json files = Json::object();
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    files[entry.path().filename().string()] = hash_file(entry.path().string());
  }
  return files;
}

/// One of an optimiser's two arrays, in a file of its own.
struct Moment {
  const char* file;
  float* (optim::Optimizer::*of)(const Weight&);
};
constexpr Moment kMoments[] = {
    {"/optimizer_exp_avg.safetensors", &optim::Optimizer::first_moment},
    {"/optimizer_exp_avg_sq.safetensors", &optim::Optimizer::second_moment}};

std::vector<const nn::Parameter*> with_moment(const Training& training, const Moment& moment) {
  std::vector<const nn::Parameter*> list;
  for (const nn::Parameter& parameter : training.model.encoder().parameters().list()) {
    if ((training.optimizer.*moment.of)(parameter.weight)) list.push_back(&parameter);
  }
  return list;
}

void write_moments(const std::string& folder, const Training& training) {
  training.optimizer.fetch_moments();
  const Isa isa = training.model.encoder().parameters().isa();
  for (const Moment& moment : kMoments) {
    const auto source = [&](const nn::Parameter& parameter) {
      return models::ConstPackedArray{isa, DType::f32,
                                      (training.optimizer.*moment.of)(parameter.weight)};
    };
    const auto same_name = [](const std::string& name) { return name; };
    models::save_arrays(with_moment(training, moment), source, same_name, folder + moment.file);
  }
}

void read_moment(const io::Weights& file, const nn::Parameter& parameter,
                 const models::PackedArray& to) {
  const int64_t width = models::row_width(parameter);
  const int64_t share =
      models::row_count(parameter) / static_cast<int64_t>(parameter.tensors.size());
  std::vector<const io::TensorInfo*> tensors;
  for (const std::string& name : parameter.tensors) {
    const io::TensorInfo* tensor = file.find(name);
    if (!tensor || tensor->elements != share * width) {
      fail(ErrorKind::bad_file, "{}: {}: missing, or not of the weight's size", file.path(), name);
    }
    tensors.push_back(tensor);
  }
  models::store_rows(parameter, to, [&](int64_t first, int64_t count, float* out) {
    for (int64_t row = first; row < first + count;) {
      const int64_t within = row % share;
      const int64_t piece = std::min(first + count - row, share - within);
      file.read(*tensors[static_cast<size_t>(row / share)], within * width, piece * width, out);
      out += piece * width;
      row += piece;
    }
  });
}

void read_moments(const std::string& folder, const Training& training) {
  const Isa isa = training.model.encoder().parameters().isa();
  for (const Moment& moment : kMoments) {
    const auto file = io::Weights::open(folder + moment.file);
    for (const nn::Parameter* parameter : with_moment(training, moment)) {
      read_moment(*file, *parameter,
                  {isa, DType::f32, (training.optimizer.*moment.of)(parameter->weight)});
    }
  }
  training.optimizer.send_moments();
}

Json read_manifest(const std::string& folder) {
  const std::string path = folder + kManifest;
  Json json = parse_json(read_file(path, kMostStateBytes), path);
  const JsonFields fields(json, path);
  fields.integer("format", kFormat, kFormat);
  return json;
}

void check_fingerprint(const std::string& folder, const Json& manifest,
                       const Fingerprint& fingerprint) {
  const std::string path = folder + kManifest;
  const JsonFields fields = JsonFields(manifest, path).object("run");
  for (const auto& [name, value] : fingerprint) {
    const std::string theirs = fields.string(name.c_str(), std::string("none"));
    if (theirs == value) continue;
    fail(ErrorKind::usage, "{}: made with another {}: {}, this run has {}", folder, name,
         quote(theirs), quote(value));
  }
}

}  // namespace

void write_checkpoint(const std::string& folder, const Training& training,
                      const Fingerprint& fingerprint) {
  if (folder_exists(folder)) remove_checkpoint(folder);
  OutputFolder out(folder);
  training.model.save(out.partial());
  write_moments(out.partial(), training);
  write_state(out.partial(), training);
  Json run = Json::object();
  for (const auto& [name, value] : fingerprint) run[name] = value;
  write_json(out.partial() + kManifest,
             {{"format", kFormat}, {"run", run}, {"files", hash_files(out.partial())}});
  out.commit();
}

void write_state(const std::string& folder, const Training& training) {
  Json state = to_json(training.state);
  state["optimizer_steps"] = training.optimizer.steps();
  write_json(folder + kState, state);
}

void verify_checkpoint(const std::string& folder) {
  const Json manifest = read_manifest(folder);
  const JsonFields fields(manifest, folder + kManifest);
  const Json& files = fields.at("files");
  if (!files.is_object()) fields.fail_field("files", "expected hashes by name");
  for (const auto& [name, hash] : files.items()) {
    const std::string path = (fs::path(folder) / name).string();
    if (!hash.is_string() || name.find('/') != std::string::npos) {
      fields.fail_field("files", "expected hashes by name");
    }
    if (!file_exists(path)) fail(ErrorKind::bad_file, "{}: missing", path);
    if (hash_file(path) != hash.get<std::string>()) {
      fail(ErrorKind::bad_file, "{}: damaged: its contents are not those that were written", path);
    }
  }
}

int64_t recorded_accumulation(const std::string& folder) {
  const Json manifest = read_manifest(folder);
  const std::string text = JsonFields(manifest, folder + kManifest)
                               .object("run")
                               .string(kAccumulation, std::string("none"));
  int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

void read_checkpoint(const std::string& folder, const Training& training,
                     const Fingerprint& fingerprint, ThreadPool& pool) {
  check_fingerprint(folder, read_manifest(folder), fingerprint);
  const std::string path = folder + kState;
  const Json state = parse_json(read_file(path, kMostStateBytes), path);
  training.state = state_from_json(state, path);
  training.optimizer.set_steps(
      JsonFields(state, path).integer("optimizer_steps", 0, training.state.step));
  training.model.restore(folder, pool);
  read_moments(folder, training);
}

}  // namespace hone::train
