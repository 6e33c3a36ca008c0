#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hone/hone.h"
#include "infer/request_queue.h"

namespace hone::python {

namespace nb = nanobind;

/// Texts, and where there are pairs the second text of each.
struct Texts {
  std::vector<std::string> texts;
  std::vector<std::optional<std::string>> pairs;  ///< empty where all are single texts
};

/// A loaded model as Python has it: any number of threads may ask it, none of which holds the
/// interpreter's lock while it waits. A process that was forked from the one that loaded it has
/// none of its threads: every call is an error there.
class Model {
 public:
  using Matrix = nb::ndarray<nb::numpy, float, nb::ndim<2>, nb::c_contig>;

  Model(const std::string& folder, const ModelOptions& options);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Gives a tuple a text, in the order of hone.Prediction's fields.
  nb::list predict(Texts texts, bool truncate) const;
  /// Gives a row a text, in one array that owns what the model wrote.
  Matrix embed(Texts texts, bool truncate) const;
  /// Gives an array of [tokens, width] a text.
  nb::list embed_tokens(Texts texts, bool truncate) const;
  /// These are predict() and embed() of a model of images.
  nb::list predict_images(const std::vector<Image>& images) const;
  Matrix embed_images(const std::vector<Image>& images) const;
  /// Gives the tuple of hone.Tokens' fields.
  nb::tuple tokenize(const std::string& text, const std::optional<std::string>& pair) const;

  std::vector<std::string> labels() const;
  std::string folder() const;
  bool predicts() const { return settings_.output == models::Output::logits; }
  int64_t max_length() const;
  int64_t width() const;
  /// Ends the model's threads; texts that wait get an error. May be called again.
  void close();

 private:
  /// Gives the queue; throws where there is none in this process.
  std::shared_ptr<infer::RequestQueue> queue() const;
  std::shared_ptr<infer::RequestQueue> queue_for(models::Output output,
                                                 data::SampleKind samples) const;
  std::vector<infer::Answer> answers_to_images(infer::RequestQueue& queue,
                                               const std::vector<Image>& images) const;

  infer::SessionOptions settings_;
  pid_t process_;
  std::shared_ptr<infer::RequestQueue> queue_;  ///< null once it was closed
};

}  // namespace hone::python
