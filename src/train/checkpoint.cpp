#include "train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <future>
#include <map>

#include "base/background.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/content_hash.h"
#include "io/safetensors_writer.h"
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

/// An optimiser's array of a slot, on the host.
struct StateArray {
  void* data;
  int64_t count;
  DType dtype;
};

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

/// Writes arrays that lie in an order of the optimiser's own as they are, each under the name of
/// its parameter's first tensor.
void write_flat(const std::string& path, const optim::StateLayout& state, size_t kind,
                const models::ArrayFile& file, const std::vector<const void*>& places) {
  std::vector<io::TensorSpec> specs;
  std::map<std::string, const nn::Parameter*> by_name;
  for (const nn::Parameter* parameter : file.parameters) {
    const std::string& name = parameter->tensors.front();
    by_name[name] = parameter;
    specs.push_back(
        {name, state.kinds()[kind].dtype, {state.place(kind, parameter->weight).count}});
  }
  io::SafetensorsWriter writer(path, std::move(specs));
  for (const io::TensorSpec& spec : writer.tensors()) {
    const Weight& weight = by_name.at(spec.name)->weight;
    writer.write_raw(places[static_cast<size_t>(weight.slot)], spec.shape.front());
  }
  writer.commit();
}

/// Writes one of the files of arrays; gives its hash.
std::string write_arrays(const std::string& folder, const CheckpointContents& contents,
                         size_t index) {
  const models::ArrayFile& file = contents.files->arrays[index];
  const std::vector<const void*>& places = (*contents.arrays)[index];
  if (contents.files->is_state(index) && !contents.files->state.kinds()[index - 1].like_weight) {
    write_flat(folder + "/" + file.name, contents.files->state, index - 1, file, places);
    return hash_file(folder + "/" + file.name);
  }
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

void read_flat(const io::Weights& file, const nn::Parameter& parameter, const StateArray& to) {
  const std::string& name = parameter.tensors.front();
  const io::TensorInfo* tensor = file.find(name);
  if (!tensor || tensor->elements != to.count || tensor->dtype != to.dtype) {
    fail(ErrorKind::bad_file, "{}: {}: missing, or not of the optimiser's size", file.path(), name);
  }
  file.read_raw(*tensor, 0, to.count, to.data);
}

void read_like_weight(const io::Weights& file, const nn::Parameter& parameter,
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

void read_state(const std::string& folder, const Training& training) {
  const nn::Parameters& parameters = training.model.model().parameters();
  const CheckpointFiles files = checkpoint_files(training);
  for (size_t kind = 0; kind < files.state.kinds().size(); ++kind) {
    const models::ArrayFile& arrays = files.arrays[kind + 1];
    const optim::StateKind& of = files.state.kinds()[kind];
    const auto file = io::Weights::open(folder + "/" + arrays.name);
    for (const nn::Parameter* parameter : arrays.parameters) {
      void* to = training.optimizer.state(kind, parameter->weight);
      if (of.like_weight) {
        read_like_weight(*file, *parameter, {parameters.isa(), DType::f32, to});
      } else {
        read_flat(*file, *parameter,
                  {to, files.state.place(kind, parameter->weight).count, of.dtype});
      }
    }
  }
  training.optimizer.send_state();
}

void read_average(const std::string& folder, const nn::Parameters& parameters,
                  WeightAverage& average) {
  const auto file = io::Weights::open(folder + "/" + kAverageFile);
  for (const nn::Parameter& parameter : parameters.list()) {
    read_like_weight(*file, parameter,
                     {parameters.isa(), DType::f32, average.data(parameter.weight)});
  }
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
  if (contents.write_concepts) {
    const std::string copy = out.partial() + "/" + kConceptsCopy;
    contents.write_concepts(copy);
    hashes[kConceptsCopy] = hash_file(copy);
  }
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
  read_state(folder, training);
  restore_average(folder, training);
}

void restore_average(const std::string& folder, const Training& training) {
  if (training.average) {
    read_average(folder, training.model.model().parameters(), *training.average);
  }
}

}  // namespace hone::train
