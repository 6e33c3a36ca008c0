// A classifier that explains itself is trained, written, read again and answers.
#include <numeric>

#include "explain/concept_store.h"
#include "io/weights.h"
#include "models/concept_encoder.h"
#include "models/folder.h"
#include "models/parser.h"
#include "train/checkpoint.h"
#include "train/explain_fixture.h"

namespace hone::train {
namespace {

double value_of(const Summary& summary, const std::string& name) {
  for (const auto& [key, value] : summary.evaluation) {
    if (key == name) return value;
  }
  return -1;
}

TEST_F(ExplainRun, LearnsAndAnswersAsItsFolderDoes) {
  Options options = explaining("out");
  options.epochs = 150;
  options.learning_rate = 2e-3;
  Listener listener;
  const Summary summary = run(options, listener);
  EXPECT_GE(value_of(summary, "eval_accuracy"), 0.9);
  const auto epochs_mean = [&](auto first) { return std::accumulate(first, first + 30, 0.) / 30; };
  EXPECT_LT(epochs_mean(listener.losses.end() - 30), epochs_mean(listener.losses.begin()) / 2);
  const auto said = [&](const std::string& line) {
    return std::find(listener.lines.begin(), listener.lines.end(), line) != listener.lines.end();
  };
  EXPECT_TRUE(said("1 of 10 training rows have no tree, and so no phrases"));

  const explain::ConceptStore store(options.output + "/" + explain::kConceptFile);
  EXPECT_EQ(store.model(), models::hash_weights(options.output));
  EXPECT_NE(store.rows().biases, nullptr) << "hubs are taken down";
  std::vector<std::string> texts;
  for (int64_t i = 0; i < store.size(); ++i) texts.emplace_back(store.text(i));
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "the film"), 1);
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "a film of the time"), 1) << "a whole row";
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "not the film"), 0) << "it has no tree";

  Options again = explaining("again");
  again.model.model = options.output;
  again.output = folder("evaluated");
  again.train = false;
  EXPECT_EQ(value_of(run(again, listener), "eval_loss"), value_of(summary, "eval_loss"));
}

struct Case {
  const char* name;
  std::function<void(Options&)> change;
};

class ExplainResume : public ExplainRun, public testing::WithParamInterface<Case> {};

TEST_P(ExplainResume, EqualsTheStraightRunBitForBit) {
  Options straight = explaining("straight");
  straight.epochs = 3;
  GetParam().change(straight);
  Listener whole;
  const Summary wanted = run(straight, whole);
  Options halves = straight;
  halves.output = folder("halves");
  halves.saving.kind = Interval::Kind::epoch;
  Listener first(4);  // three steps an epoch: amid the second
  EXPECT_TRUE(run(halves, first).interrupted);
  EXPECT_TRUE(file_exists(checkpoint_path(halves.output, 4) + "/" + kConceptsCopy));
  halves.resume = "last";
  Listener between(5);  // it stops again, with a checkpoint's concepts
  EXPECT_TRUE(run(halves, between).interrupted);
  Listener second;
  const Summary resumed = run(halves, second);
  EXPECT_EQ(weights(halves.output), weights(straight.output));
  EXPECT_EQ(read_file(halves.output + "/" + explain::kConceptFile),
            read_file(straight.output + "/" + explain::kConceptFile));
  EXPECT_EQ(value_of(resumed, "eval_loss"), value_of(wanted, "eval_loss"));
  std::vector<double> losses = first.losses;
  losses.insert(losses.end(), between.losses.begin(), between.losses.end());
  losses.insert(losses.end(), second.losses.begin(), second.losses.end());
  EXPECT_EQ(losses, whole.losses);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, ExplainResume,
    testing::Values(Case{"plain", [](Options&) {}},
                    Case{"masked", [](Options& o) { o.explain.mask_phrases = 0.5; }},
                    Case{"bf16", [](Options& o) { o.step.dtype = DType::bf16; }},
                    Case{"lora",
                         [](Options& o) {
                           o.model.lora = nn::LoraOptions{.rank = 3, .alpha = 6, .dropout = 0.1};
                         }},
                    Case{"best",
                         [](Options& o) {
                           o.saving.kind = Interval::Kind::epoch;
                           o.stopping.load_best = true;
                         }}),
    [](const auto& test) { return test.param.name; });

TEST_F(ExplainRun, AdaptersOfAParserAreNoParser) {
  Options parsing = explaining("parser");
  parsing.explain = {};
  parsing.data.task = "parse";
  parsing.data.train_file = parsing.data.validation_file = write("parse.txt", kExplainTrees);
  Listener listener;
  run(parsing, listener);
  Options options = explaining("out");
  options.model.model = parsing.output;
  options.model.lora = nn::LoraOptions{.rank = 3, .alpha = 6};
  run(options, listener);
  const models::ModelFolder opened = models::open_model_folder(options.output);
  EXPECT_FALSE(models::is_parser(*opened.config));
  EXPECT_NE(models::explain_settings(*opened.config), nullptr);
}

TEST_F(ExplainRun, AStoreBelongsToTheBaseAndTheScaleOfItsAdapters) {
  Options options = explaining("out");
  options.model.model = folder("base");
  std::filesystem::copy(golden("bert-words"), options.model.model);
  options.model.lora = nn::LoraOptions{.rank = 3, .alpha = 6};
  Listener listener;
  run(options, listener);
  const data::Hash128 made = models::hash_weights(options.output);
  const auto changed = [&](const std::string& file, const std::string& to) {
    const std::string as_it_was = read_file(file);
    write_file(file, to.empty() ? as_it_was.substr(0, as_it_was.size() - 1) + "~" : to);
    const bool differs = !(models::hash_weights(options.output) == made);
    write_file(file, as_it_was);
    return differs;
  };
  const std::string config = options.output + "/adapter_config.json";
  Json scaled = parse_json(read_file(config), config);
  scaled["lora_alpha"] = 7;
  EXPECT_TRUE(changed(config, scaled.dump()));
  EXPECT_TRUE(changed(options.output + "/adapter_model.safetensors", ""));
  EXPECT_TRUE(changed(options.model.model + "/model.safetensors", ""));
  EXPECT_EQ(models::hash_weights(options.output), made);
}

/// Adapters are trained beside the encoder and the heads in full. What is written is an adapter's
/// folder with a store, which answers as the model did in training.
TEST_F(ExplainRun, AdaptersBesideTheHeadsAnswerAsTheirFolderDoes) {
  Options options = explaining("out");
  options.model.lora = nn::LoraOptions{.rank = 3, .alpha = 6};
  options.epochs = 100;
  options.learning_rate = 5e-3;
  Listener listener;
  const Summary summary = run(options, listener);
  EXPECT_LT(listener.losses.back(), listener.losses.front());
  EXPECT_FALSE(file_exists(options.output + "/model.safetensors"));
  const auto saved = io::Weights::open(options.output + "/adapter_model.safetensors");
  const auto trained = [&](const std::string& name) {
    return saved->find("base_model.model." + name) != nullptr;
  };
  EXPECT_TRUE(trained("bert.encoder.layer.0.attention.self.query.lora_B.weight"));
  for (const char* name : {"classifier.weight", "explain.local.weight", "parser.dense.weight",
                           "explain.attention.value.weight", "explain.global.bias"}) {
    EXPECT_TRUE(trained(name)) << name;
  }
  EXPECT_FALSE(trained("bert.encoder.layer.0.attention.self.query.weight"));
  const explain::ConceptStore store(options.output + "/" + explain::kConceptFile);
  EXPECT_EQ(store.model(), models::hash_weights(options.output));
  const models::ModelFolder opened = models::open_model_folder(options.output);
  const models::ExplainSettings* const settings = models::explain_settings(*opened.config);
  ASSERT_NE(settings, nullptr) << "which the base's config.json does not say";
  EXPECT_EQ(settings->neighbours, 3);
  EXPECT_EQ(opened.trained(), options.output);

  Options again = explaining("again");
  again.model.model = options.output;
  again.output = folder("evaluated");
  again.train = false;
  EXPECT_NEAR(value_of(run(again, listener), "eval_loss"), value_of(summary, "eval_loss"), 1e-4);
  Options further = explaining("further");
  further.model.model = options.output;
  further.epochs = 1;
  Listener continued;
  run(further, continued);
  EXPECT_NEAR(continued.losses.front(), listener.losses.back(),
              0.5 * std::abs(listener.losses.front()));
  EXPECT_TRUE(file_exists(further.output + "/adapter_model.safetensors"));
}

class ExplainFamilies : public ExplainRun, public testing::WithParamInterface<const char*> {
 protected:
  /// Gives a tokenizer for each of the folders: some have none of their own, and few embeddings.
  std::string tokenizer() const {
    const std::string own = golden(GetParam());
    if (file_exists(own + "/tokenizer.json")) return own;
    const std::string whole = golden("bert-words") + "/tokenizer.json";
    Json small = parse_json(read_file(whole), whole);
    std::erase_if(small["model"]["vocab"].get_ref<Json::object_t&>(),
                  [](const auto& word) { return word.second.template get<int>() >= 29; });
    return write("tokenizer.json", small.dump());
  }
};

TEST_P(ExplainFamilies, TrainInBf16WithCheckpointedLayers) {
  Options plain = explaining("plain");
  plain.model.model = golden(GetParam());
  plain.model.tokenizer = tokenizer();
  Listener plain_losses;
  run(plain, plain_losses);
  Options low = explaining("low");
  low.model.model = golden(GetParam());
  low.model.tokenizer = tokenizer();
  low.step.dtype = DType::bf16;
  low.step.checkpoint_segments = 2;
  Listener losses;
  run(low, losses);
  ASSERT_EQ(losses.losses.size(), plain_losses.losses.size());
  for (size_t i = 0; i < losses.losses.size(); ++i) {
    EXPECT_NEAR(losses.losses[i], plain_losses.losses[i], 0.1);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ExplainFamilies,
                         testing::Values("bert-words", "roberta-regression",
                                         "xlm-roberta-multi-label", "distilbert-learned",
                                         "albert-groups"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(ExplainRun, MaskedPhrasesChangeTheLosses) {
  Listener plain, masked;
  run(explaining("plain"), plain);
  Options options = explaining("masked");
  options.explain.mask_phrases = 1;
  run(options, masked);
  EXPECT_NE(plain.losses, masked.losses);
}

TEST_F(ExplainRun, AParserMakesTheTreesThatAreNotGiven) {
  Options parsing = options("parser");
  parsing.data = {};
  parsing.data.task = "parse";
  parsing.data.train_file = write("trees.txt", kExplainTrees);
  parsing.model.model = golden("bert-words");
  parsing.evaluate = false;
  Listener listener;
  run(parsing, listener);
  Options options = explaining("out");
  options.explain.trees.clear();
  options.explain.parser = parsing.output;
  Listener said;
  run(options, said);
  for (const std::string& line : said.lines) EXPECT_EQ(line.find("have no tree"), line.npos);
}

TEST_F(ExplainRun, WhatIsMissingOrBadIsSaid) {
  Listener listener;
  const auto said = [&](const std::function<void(Options&)>& change) {
    Options options = explaining("out");
    change(options);
    return complaint([&] { run(options, listener); });
  };
  EXPECT_EQ(said([](Options& o) { o.explain.trees.clear(); }),
            "explain.trees: missing; give files of trees over the training texts, or an "
            "`explain.parser` that makes them");
  EXPECT_EQ(said([](Options& o) {
              o.explain = {};
              o.explain.store_dtype = DType::u8;
            }),
            "explain.store_dtype: is of `explain`, which is missing");
  EXPECT_EQ(said([](Options& o) { o.explain.on = false; }),
            "explain.trees: is of `explain`, which is missing");
  EXPECT_EQ(said([](Options& o) { o.model.model.clear(); }),
            "explain: missing a `model`; an encoder learns to explain itself");
  EXPECT_EQ(said([](Options& o) { o.average_decay = 0.9; }),
            "average_decay: not together with `explain`");
  EXPECT_EQ(said([](Options& o) { o.model.model = golden("electra-projected"); }),
            "explain: bert, roberta, xlm-roberta, distilbert and albert explain themselves, not a "
            "model of type 'electra'");
  EXPECT_EQ(said([&](Options& o) { o.explain.trees = {write("other.txt", "(S a (NP b c))")}; }),
            "explain.trees: no row of " + folder("rows.csv") +
                " has a tree with phrases of 2 to 5 words; nothing could be retrieved");
  EXPECT_EQ(said([&](Options& o) { o.explain.trees = {write("bad.txt", "(S a b")}; }),
            folder("bad.txt") + ": line 1: tree: a bracket is never closed");
  EXPECT_NE(said([&](Options& o) {
              o.data.train_file = o.data.validation_file =
                  write("pairs.csv", "label,text,text_pair\na,b,c\nd,e,f\n");
            }).find("a pair of texts; a self-explaining model reads one"),
            std::string::npos);
}

}  // namespace
}  // namespace hone::train
