#include "train/checkpoint_contents.h"

#include <fmt/format.h>

#include <functional>

namespace hone::train {
namespace {

/// `weight` and `state` say where one slot's array lies.
ArrayPlaces places_of(const CheckpointFiles& files, const Training& training,
                      const std::function<const void*(const Weight&)>& weight,
                      const std::function<const void*(size_t kind, const Weight&)>& state) {
  const auto place = [&](size_t file, const Weight& slot) -> const void* {
    if (file == 0) return weight(slot);
    if (files.is_state(file)) return state(file - 1, slot);
    return training.average->data(slot);
  };
  const size_t slots = training.model.model().parameters().list().size();
  ArrayPlaces places(files.arrays.size(), std::vector<const void*>(slots));
  for (size_t file = 0; file < files.arrays.size(); ++file) {
    for (const nn::Parameter* parameter : files.arrays[file].parameters) {
      places[file][static_cast<size_t>(parameter->weight.slot)] = place(file, parameter->weight);
    }
  }
  return places;
}

}  // namespace

size_t CheckpointFiles::bytes_of(size_t file, const nn::Parameters& parameters,
                                 const nn::Parameter& parameter) const {
  if (!is_state(file)) return parameters.bytes_of(parameter);
  const optim::StateLayout::Place& place = state.place(file - 1, parameter.weight);
  return static_cast<size_t>(place.count) * dtype_size(state.kinds()[file - 1].dtype);
}

CheckpointFiles checkpoint_files(const Training& training) {
  ModelFiles model = training.model.files();
  CheckpointFiles files{
      std::move(model.texts), {std::move(model.weights)}, training.optimizer.layout()};
  for (size_t kind = 0; kind < files.state.kinds().size(); ++kind) {
    models::ArrayFile file{fmt::format("optimizer_{}.safetensors", files.state.kinds()[kind].name),
                           {},
                           [](const std::string& name) { return name; }};
    for (const nn::Parameter& parameter : training.model.model().parameters().list()) {
      if (files.state.place(kind, parameter.weight).count > 0)
        file.parameters.push_back(&parameter);
    }
    files.arrays.push_back(std::move(file));
  }
  if (training.average) {
    models::ArrayFile average{kAverageFile, {}, [](const std::string& name) { return name; }};
    for (const nn::Parameter& parameter : training.model.model().parameters().list()) {
      average.parameters.push_back(&parameter);
    }
    files.arrays.push_back(std::move(average));
  }
  return files;
}

ArrayPlaces newest_arrays(const CheckpointFiles& files, const Training& training) {
  const nn::Parameters& parameters = training.model.model().parameters();
  return places_of(
      files, training, [&](const Weight& weight) { return parameters.newest(weight); },
      [&](size_t kind, const Weight& weight) {
        return training.optimizer.newest_state(kind, weight);
      });
}

ArrayPlaces fetch_arrays(const CheckpointFiles& files, const Training& training) {
  nn::Parameters& parameters = training.model.model().parameters();
  parameters.refresh_host();
  training.optimizer.fetch_state();
  return places_of(
      files, training,
      [&](const Weight& weight) { return parameters.pointers()[static_cast<size_t>(weight.slot)]; },
      [&](size_t kind, const Weight& weight) { return training.optimizer.state(kind, weight); });
}

}  // namespace hone::train
