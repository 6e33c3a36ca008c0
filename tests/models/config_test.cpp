// What a config.json leaves out has the value that transformers' config classes give it, and what
// it says of dropout is dropped where transformers' models do. The golden is made by
// tests/parity/config_goldens.py.
#include "models/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/file.h"

namespace hone::models {
namespace {

constexpr std::array kConfigFamilies = {"bert",       "roberta", "xlm-roberta",
                                        "distilbert", "albert",  "electra"};

/// Everything that a config was read to.
Json described(const EncoderConfig& c) {
  return {
      {"model_type", c.model_type},
      {"vocab_size", c.vocab_size},
      {"embedding_size", c.embedding_size},
      {"hidden_size", c.hidden_size},
      {"intermediate_size", c.intermediate_size},
      {"heads", c.heads},
      {"layers", c.layers},
      {"positions", c.positions},
      {"type_vocab_size", c.type_vocab_size},
      {"activation", static_cast<int>(c.activation)},
      {"layer_norm_eps", c.layer_norm_eps},
      {"position_kind", static_cast<int>(c.position_kind)},
      {"pad_id", c.pad_id},
      {"positions_skip_pad", c.positions_skip_pad},
      {"layer_groups", c.layer_groups},
      {"layers_a_group", c.layers_a_group},
      {"embedding_dropout", c.embedding_dropout},
      {"layer_dropout",
       {c.layer_dropout.probabilities, c.layer_dropout.attention_out, c.layer_dropout.feed_out}},
      {"head_dropout", c.head_dropout},
      {"initializer_range", c.initializer_range},
      {"problem", static_cast<int>(c.problem)},
      {"labels", c.labels},
      {"labels_named", c.labels_named}};
}

class ConfigDefaults : public testing::TestWithParam<const char*> {
 protected:
  const Json golden =
      parse_json(read_file(HONE_TEST_DIR "/config_defaults.json"), "config_defaults.json")
          .at(GetParam());

  static Json read(const Json& json) { return described(read_config(json, "config.json")); }

  /// How two readings differ, field by field.
  static std::string difference(Json got, Json wanted) {
    // RoBERTa's vocabulary falls back to BERT's size; a file of weights of another size is refused.
    if (GetParam() == std::string("roberta")) {
      EXPECT_EQ(wanted.at("vocab_size"), 50265);
      got.erase("vocab_size");
      wanted.erase("vocab_size");
    }
    return Json::diff(wanted, got).dump();
  }

  /// What a model of transformers has, in the numbers that it is read to.
  static void expect_made(const Json& got, const Json& made) {
    EXPECT_EQ(got.at("layer_norm_eps"), made.at("layer_norm_eps"));
    for (const char* name : {"embedding_dropout", "head_dropout"}) {
      EXPECT_FLOAT_EQ(got.at(name), made.at(name)) << name;
    }
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_FLOAT_EQ(got.at("layer_dropout")[i], made.at("layer_dropout")[i]) << i;
    }
  }
};

TEST_P(ConfigDefaults, OfAFieldLeftOutAreTransformers) {
  const Json& all = golden.at("fields");
  const Json wanted = read(all);
  for (const auto& [field, value] : all.items()) {
    if (field == "model_type") continue;
    Json without = all;
    without.erase(field);
    EXPECT_EQ(difference(read(without), wanted), "[]")
        << field << " left out; transformers has " << value;
  }
}

TEST_P(ConfigDefaults, OfAllFieldsLeftOutAreTransformers) {
  const Json got = read({{"model_type", GetParam()}});
  EXPECT_EQ(difference(got, read(golden.at("fields"))), "[]");
  expect_made(got, golden.at("made"));
}

TEST_P(ConfigDefaults, DropoutIsWhereTransformersHasIt) {
  Json config = golden.at("drops");
  config["model_type"] = GetParam();
  expect_made(read(config), golden.at("made_with_drops"));
}

INSTANTIATE_TEST_SUITE_P(Families, ConfigDefaults, testing::ValuesIn(kConfigFamilies),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace hone::models
