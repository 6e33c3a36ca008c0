#include "train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <future>

#include "base/background.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/content_hash.h"
#include "io/weights.h"
#include "models/save.h"
#include "nn/packed_rows.h"

namespace hone::train {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostStateBytes = uint64_t{1} << 30;
constexpr int64_t kFormat = 2;  // the version of trainer_state.json, too
constexpr const char* kManifest = "/checkpoint.json";
constexpr const char* kState = "trainer_state.json";

std::string hash_file(const std::string& path) {
  data::ContentHash hash;
  hash.file(path);
  return data::hex(hash.value());
}

std::string state_text(const RunState& state, int64_t optimizer_steps) {
  Json json = to_json(state);
  json["optimizer_steps"] = optimizer_steps;
  return indented_json(json);
}

/// Writes a file of text into `folder` and its hash into `hashes`.
void write_text(const std::string& folder, const data::TextFile& file, Json& hashes) {
  write_file(folder + "/" + file.name, file.text);
  data::ContentHash hash;
  hash.text(file.text);  // equals hash_file() of what was written
  hashes[file.name] = data::hex(hash.value());
}

/// Writes one of the files of arrays; gives its hash.
std::string write_arrays(const std::string& folder, const CheckpointContents& contents,
                         size_t index) {
  const models::ArrayFile& file = contents.files->arrays[index];
  const std::vector<const void*>& places = (*contents.arrays)[index];
  const auto source = [&](const nn::Parameter& parameter) {
    return nn::ConstPackedArray{contents.isa, DType::f32,
                                places[static_cast<size_t>(parameter.weight.slot)]};
  };
  models::save_arrays(file, source, folder);
  return hash_file(folder + "/" + file.name);
}

void write_all_arrays(const std::string& folder, const CheckpointContents& contents, Json& hashes) {
  std::vector<std::future<std::string>> files;
  for (size_t i = 0; i < contents.files->arrays.size(); ++i) {
    const auto write = [&, i] { return write_arrays(folder, contents, i); };
    files.push_back(contents.in_threads ? in_background(write)
                                        : std::async(std::launch::deferred, write));
  }
  for (size_t i = 0; i < files.size(); ++i) {
    hashes[contents.files->arrays[i].name] = files[i].get();
  }
}

void read_moment(const io::Weights& file, const nn::Parameter& parameter,
                 const nn::PackedArray& to) {
  const int64_t width = nn::row_width(parameter);
  const int64_t share = nn::row_count(parameter) / static_cast<int64_t>(parameter.tensors.size());
  std::vector<const io::TensorInfo*> tensors;
  for (const std::string& name : parameter.tensors) {
    const io::TensorInfo* tensor = file.find(name);
    if (!tensor || tensor->elements != share * width) {
      fail(ErrorKind::bad_file, "{}: {}: missing, or not of the weight's size", file.path(), name);
    }
    tensors.push_back(tensor);
  }
  nn::store_rows(parameter, to, [&](int64_t first, int64_t count, float* out) {
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
  const Isa isa = training.model.model().parameters().isa();
  for (const Moment& moment : kMoments) {
    const auto file = io::Weights::open(folder + "/" + moment.file);
    for (const nn::Parameter* parameter : with_moment(training, moment)) {
      read_moment(*file, *parameter,
                  {isa, DType::f32, (training.optimizer.*moment.on_host)(parameter->weight)});
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
  const auto alike = [&](const auto& field) {
    return fields.string(field.first.c_str(), std::string("none")) == field.second;
  };
  const bool same_ranks = std::all_of(fingerprint.begin(), fingerprint.end(), [&](const auto& own) {
    return own.first != kRanks || alike(own);
  });
  for (const auto& [name, value] : fingerprint) {
    if (!same_ranks && (name == kRanks || name == kThreads)) continue;
    const std::string theirs = fields.string(name.c_str(), std::string("none"));
    if (theirs == value) continue;
    fail(ErrorKind::usage, "{}: made with another {}: {}, this run has {}", folder, name,
         quote(theirs), quote(value));
  }
}

}  // namespace

void write_checkpoint(const std::string& folder, const CheckpointContents& contents) {
  if (folder_exists(folder)) remove_checkpoint(folder);
  OutputFolder out(folder);
  Json hashes = Json::object();
  write_all_arrays(out.partial(), contents, hashes);
  for (const data::TextFile& file : contents.files->texts) write_text(out.partial(), file, hashes);
  write_text(out.partial(), {kState, state_text(contents.state, contents.optimizer_steps)}, hashes);
  Json run = Json::object();
  for (const auto& [name, value] : *contents.fingerprint) run[name] = value;
  write_json(out.partial() + kManifest, {{"format", kFormat}, {"run", run}, {"files", hashes}});
  out.commit();
}

void write_state(const std::string& folder, const RunState& state, int64_t optimizer_steps) {
  write_file(folder + "/" + kState, state_text(state, optimizer_steps));
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
  const std::string path = folder + "/" + kState;
  const Json state = parse_json(read_file(path, kMostStateBytes), path);
  training.state = state_from_json(state, path);
  training.optimizer.set_steps(
      JsonFields(state, path).integer("optimizer_steps", 0, training.state.step));
  training.model.restore(folder, pool);
  read_moments(folder, training);
}

}  // namespace hone::train
