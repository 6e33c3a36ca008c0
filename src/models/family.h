#pragma once

#include <array>
#include <string>
#include <string_view>

#include "models/config.h"

namespace hone::models {

/// A family's checkpoint names, each without ".weight" and ".bias", in one table. In the layer
/// names {layer}, {group} and {inner} stand for indices. Empty: the family has no such part.
struct WeightNames {
  std::string_view word;
  std::string_view position;
  std::string_view type;
  std::string_view embedding_norm;
  std::string_view embedding_projection;

  std::string_view query;
  std::string_view key;
  std::string_view value;
  std::string_view distance;  ///< relative positions
  std::string_view attention_out;
  std::string_view attention_norm;
  std::string_view feed_in;
  std::string_view feed_out;
  std::string_view feed_norm;

  /// The classifier reads the first token: dense, activation, output.
  std::string_view head_dense;
  std::string_view head_out;
};

/// One of the architectures: how its config reads and what its weights are called.
struct Family {
  std::string_view model_type;
  std::string_view prefix;        ///< of the encoder's weights in a checkpoint with a head: "bert."
  std::string_view architecture;  ///< of the classes in transformers: "Bert"
  EncoderConfig (*read_config)(const JsonFields& fields);
  WeightNames names;
  kernels::Activation head_activation;
  bool drops_before_head;  ///< RoBERTa's head drops its input too
  bool has_pooler;         ///< the head's first layer is the encoder's, and named with its prefix
};

extern const Family kBert;
extern const Family kRoberta;
extern const Family kXlmRoberta;
extern const Family kDistilBert;
extern const Family kAlbert;

/// All families, for lookups and for messages.
std::array<const Family*, 5> families();

/// Whether a parameter's tensor is of the classification head itself, which an encoder's pooler is
/// not.
bool is_head(const Family& family, const std::string& name);

/// The full name of a parameter's tensor in a checkpoint with a head, as transformers saves it.
std::string checkpoint_name(const Family& family, const std::string& name);

/// By the config's model_type; an unknown one is an error that lists the known.
const Family& find_family(const JsonFields& fields);

/// The family of a config that find_family accepted.
const Family& family_of(const EncoderConfig& config);

/// Shared by the families' readers: bounds that keep a hostile config from asking for the moon.
inline constexpr int64_t kMaxWidth = 1 << 16;
inline constexpr int64_t kMaxLayers = 1024;
inline constexpr int64_t kMaxVocabulary = 1 << 24;
inline constexpr int64_t kMaxPositions = 1 << 20;

kernels::Activation read_activation(const JsonFields& fields, const char* field,
                                    const char* fallback);

/// A probability field; `fallback` where it is absent.
float read_dropout(const JsonFields& fields, const char* field, double fallback);

/// The fields that BERT, RoBERTa and ALBERT spell alike; what is absent has BERT's default.
EncoderConfig read_bert_fields(const JsonFields& fields);

}  // namespace hone::models
