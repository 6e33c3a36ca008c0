#include "train/checkpoint_contents.h"

#include <functional>
#include <iterator>

namespace hone::train {
namespace {

/// `weight` and `moment` say where one slot's array lies.
ArrayPlaces places_of(const CheckpointFiles& files, const Training& training,
                      const std::function<const void*(const Weight&)>& weight,
                      const std::function<const void*(const Moment&, const Weight&)>& moment) {
  const size_t slots = training.model.model().parameters().list().size();
  ArrayPlaces places(files.arrays.size(), std::vector<const void*>(slots));
  for (size_t file = 0; file < files.arrays.size(); ++file) {
    for (const nn::Parameter* parameter : files.arrays[file].parameters) {
      places[file][static_cast<size_t>(parameter->weight.slot)] =
          file == 0 ? weight(parameter->weight) : moment(kMoments[file - 1], parameter->weight);
    }
  }
  return places;
}

}  // namespace

std::vector<const nn::Parameter*> with_moment(const Training& training, const Moment& moment) {
  std::vector<const nn::Parameter*> list;
  for (const nn::Parameter& parameter : training.model.model().parameters().list()) {
    if ((training.optimizer.*moment.newest)(parameter.weight)) list.push_back(&parameter);
  }
  return list;
}

CheckpointFiles checkpoint_files(const Training& training) {
  ModelFiles model = training.model.files();
  CheckpointFiles files{std::move(model.texts), {std::move(model.weights)}};
  for (const Moment& moment : kMoments) {
    files.arrays.push_back(
        {moment.file, with_moment(training, moment), [](const std::string& name) { return name; }});
  }
  return files;
}

ArrayPlaces newest_arrays(const CheckpointFiles& files, const Training& training) {
  const nn::Parameters& parameters = training.model.model().parameters();
  return places_of(
      files, training, [&](const Weight& weight) { return parameters.newest(weight); },
      [&](const Moment& moment, const Weight& weight) {
        return (training.optimizer.*moment.newest)(weight);
      });
}

ArrayPlaces fetch_arrays(const CheckpointFiles& files, const Training& training) {
  nn::Parameters& parameters = training.model.model().parameters();
  parameters.refresh_host();
  training.optimizer.fetch_moments();
  return places_of(
      files, training,
      [&](const Weight& weight) { return parameters.pointers()[static_cast<size_t>(weight.slot)]; },
      [&](const Moment& moment, const Weight& weight) {
        return (training.optimizer.*moment.on_host)(weight);
      });
}

}  // namespace hone::train
