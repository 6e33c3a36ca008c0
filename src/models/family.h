#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/processor.h"
#include "device/target.h"
#include "image/decode.h"
#include "io/weights.h"
#include "models/model_config.h"
#include "models/new_model.h"
#include "nn/lora.h"
#include "tensor/dtype.h"

namespace hone::models {

class Model;

/// Says how a model is to be made of its config.
struct MakeOptions {
  DType dtype = DType::f32;  ///< dtype of the products
  Target target = {};
  bool with_head = true;
  std::optional<nn::LoraOptions> lora = {};
  /// Where true, the model answers alone: batch norms are folded into what is before them.
  bool folds_norms = false;
  /// Makes the model's samples, of which images have the size that the model is made for; null: as
  /// the family's models usually have it.
  const data::Processor* processor = nullptr;
};

/// Says what a processor is made from.
struct ProcessorOptions {
  std::string path;       ///< a folder of the processor's files, or one of them
  std::string model;      ///< names the model in errors
  int64_t max_units = 0;  ///< most units of a sample; 0: what the folder says
  bool clamps = false;    ///< true: where max_units is more than the model takes, that is taken
                          ///< without an error
  std::optional<int64_t> sentence_length = {};  ///< sentence-transformers' own limit
  image::DecodeLimits image_limits = {};        ///< what an image may be, for models of images
};

/// A kind of model: how its config reads, how its weights are called, and how models and their
/// processors are made. It is the one place where training, inference and the command line come to
/// know one kind from another.
struct Family {
  std::string model_type;
  std::string prefix;  ///< prefix of the backbone's weights in a checkpoint with a head: "bert."
  std::string architecture;  ///< prefix of the classes in transformers: "Bert"
  std::string head_class = "ForSequenceClassification";  ///< end of the class's name with a head
  /// Modules of the head, without ".weight"; the first may be empty.
  std::string head_dense;
  std::string head_out;
  bool has_pooler = false;  ///< head_dense is the backbone's, and named with its prefix
  /// Gives the names that a parameter's tensor may have in checkpoints of other libraries, in full;
  /// empty where there are none.
  std::function<std::vector<std::string>(const std::string& name)> other_names = {};
  std::vector<std::string> lora_targets = {};         ///< the default ones; none: no adapters
  data::SampleKind samples = data::SampleKind::text;  ///< what its processor reads

  /// Gives the config.json of a state dict that comes without one; nothing where its tensors are no
  /// model's of this family. Empty where the family does not tell.
  std::function<std::optional<Json>(const Family&, const io::Weights&)> guess_config = {};
  std::function<std::unique_ptr<ModelConfig>(const JsonFields&)> read_config;
  std::function<std::unique_ptr<Model>(const ModelConfig&, const MakeOptions&)> make;
  std::function<std::unique_ptr<data::Processor>(const ModelConfig&, const ProcessorOptions&)>
      open_processor;
  /// Makes the parts of a model from nothing, of a config.json's fields (`file` names them in
  /// errors) and the training samples. Empty where the family needs a processor of before.
  std::function<NewModel(const Json&, const std::string& file, const NewModelOptions&)> make_new =
      {};
  /// Names configs of models from nothing beside the family's defaults: "resnet18".
  std::vector<std::pair<std::string, Json>> named_configs = {};
};

/// Gives all families, for lookups and for messages.
const std::vector<Family>& families();
/// Adds a family to those that hone has, or takes the place of one of that model_type. It is called
/// before any model is opened.
void register_family(Family family);

/// Says whether a parameter's tensor belongs to the classification head itself, which a pooler does
/// not.
bool is_head(const Family& family, const std::string& name);

/// Gives the full name of a parameter's tensor in a checkpoint with a head, as transformers saves
/// it.
std::string checkpoint_name(const Family& family, const std::string& name);

/// Finds the family by the config's model_type; an unknown one is an error that lists the known.
const Family& find_family(const JsonFields& fields);

/// Gives the config.json's fields of a model from nothing: those of a family's named config, or the
/// defaults of the family of that model_type.
Json config_of_type(const std::string& type);

/// Gives the family of a config that find_family accepted.
const Family& family_of(const ModelConfig& config);

/// The families' readers share these bounds, which keep a hostile config from asking for too much
/// memory.
inline constexpr int64_t kMaxWidth = 1 << 16;
inline constexpr int64_t kMaxLayers = 1024;
inline constexpr int64_t kMaxVocabulary = 1 << 24;
inline constexpr int64_t kMaxPositions = 1 << 20;

/// Reads a probability field; gives `fallback` where it is absent.
float read_dropout(const JsonFields& fields, const char* field, double fallback);

}  // namespace hone::models
