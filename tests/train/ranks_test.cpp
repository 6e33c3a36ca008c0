// Runs of several ranks against those of one process on the same global batches.
#include "train/ranks_fixture.h"

#include "train/checkpoint.h"
#include "train/run_checks.h"
#include "train/virtual_ranks.h"

namespace hone::train {
namespace {

struct RankCase {
  const char* name;
  std::vector<int> ranks;
  std::function<void(Options&)> change;
};

class RankRuns : public RanksTest, public testing::WithParamInterface<RankCase> {};

TEST_P(RankRuns, HaveTheLossesOfOneProcess) {
  Options alone = twenty_steps("alone");
  GetParam().change(alone);
  Listener listener;
  run(alone, listener);
  const std::vector<double> wanted = logged(alone.output, "loss");
  ASSERT_EQ(wanted.size(), 20u);
  for (const int ranks : GetParam().ranks) {
    Options several = alone;
    several.output = folder(std::to_string(ranks));
    comm::expect_all_well(run_as(ranks, several));
    expect_near(logged(several.output, "loss"), wanted, 1e-5, std::to_string(ranks) + " ranks");
    expect_near(logged(several.output, "eval_loss"), logged(alone.output, "eval_loss"), 1e-5,
                "evaluation");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RankRuns,
    testing::Values(RankCase{"plain", {1, 2, 3, 4, 8}, [](Options&) {}},
                    RankCase{"accumulation", {3}, [](Options& o) { o.batch.accumulation = 2; }},
                    RankCase{"clipped", {3}, [](Options& o) { o.optimizer.max_grad_norm = 0.05; }},
                    RankCase{"class_weights",
                             {3},
                             [](Options& o) {
                               o.class_weights = {0.5, 2};
                             }},
                    RankCase{"smoothed", {2}, [](Options& o) { o.label_smoothing = 0.1f; }},
                    RankCase{"lengths", {3}, [](Options& o) { o.batch.group_by_length = true; }},
                    RankCase{"token_budget", {4}, [](Options& o) { o.batch.max_tokens = 400; }},
                    RankCase{"sgd",
                             {3},
                             [](Options& o) {
                               o.optimizer.kind = optim::OptimizerKind::sgd;
                               o.optimizer.momentum = 0.9;
                               o.learning_rate = 0.05;
                             }},
                    RankCase{"segments", {2}, [](Options& o) { o.step.checkpoint_segments = 2; }},
                    RankCase{"frozen",
                             {2},
                             [](Options& o) { o.model.freeze = "bert.embeddings.*_embeddings.*"; }},
                    RankCase{"lora",
                             {3},
                             [](Options& o) {
                               o.model.model = HONE_TEST_DIR "/../models/goldens/bert-words";
                               o.model.lora =
                                   nn::LoraOptions{.rank = 3, .alpha = 6, .dropout = 0.1};
                             }},
                    RankCase{"lstm",
                             {2, 3},
                             [](Options& o) {
                               o.model.type = "lstm";
                               o.learning_rate = 3e-3;
                             }},
                    RankCase{"no_workers", {2}, [](Options& o) { o.batch.workers = 0; }}),
    [](const auto& test) { return std::string(test.param.name); });

/// Half precision rounds activations, so that sums in another order move losses by more.
TEST_F(RanksTest, HaveTheLossesOfOneProcessInHalfPrecision) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Options alone = twenty_steps("alone-" + std::string(dtype_name(dtype)));
    alone.step.dtype = dtype;
    Listener listener;
    run(alone, listener);
    Options several = alone;
    several.output = folder("3-" + std::string(dtype_name(dtype)));
    comm::expect_all_well(run_as(3, several));
    expect_near(logged(several.output, "loss"), logged(alone.output, "loss"), 2e-3,
                std::string(dtype_name(dtype)));
  }
}

/// Weights so large that steps overflow in fp16: all ranks leave the same ones out.
TEST_F(RanksTest, SkipStepsOfHalfPrecisionTogether) {
  Options made = twenty_steps("several");
  made.step.dtype = DType::f16;
  made.learning_rate = 1e3;
  made.evaluate = false;
  made.max_steps = 6;
  comm::expect_all_well(run_as(3, made));
  Options alone = made;
  alone.output = folder("alone");
  Listener listener;
  run(alone, listener);
  EXPECT_FALSE(listener.warnings.empty());
  expect_near(logged(made.output, "loss"), logged(alone.output, "loss"), 1e-2, "fp16");
}

TEST_F(RanksTest, OfTheSameNumberHaveTheSameBits) {
  Options made = twenty_steps("first");
  comm::expect_all_well(run_as(3, made));
  const std::string wanted = weights(made.output);
  made.output = folder("second");
  comm::expect_all_well(run_as(3, made));
  EXPECT_EQ(weights(made.output), wanted);
}

TEST_F(RanksTest, StopTogetherAndGoOnWithTheSameBits) {
  Options straight = twenty_steps("straight");
  comm::expect_all_well(run_as(3, straight));
  Options halves = straight;
  halves.output = folder("halves");
  halves.saving.kind = Interval::Kind::epoch;
  comm::expect_all_well(run_as(3, halves, {}, 7));
  EXPECT_EQ(list_checkpoints(halves.output).back(), checkpoint_path(halves.output, 7));
  halves.resume = "last";
  comm::expect_all_well(run_as(3, halves));
  EXPECT_EQ(weights(halves.output), weights(straight.output));
  EXPECT_EQ(logged(halves.output, "loss"), logged(straight.output, "loss"));
}

TEST_F(RanksTest, GoOnWhereAnotherNumberStopped) {
  Options straight = twenty_steps("straight");
  Listener whole;
  run(straight, whole);
  Options halves = straight;
  halves.output = folder("halves");
  halves.saving.kind = Interval::Kind::epoch;
  comm::expect_all_well(run_as(4, halves, {}, 7));
  halves.resume = "last";
  halves.threads = 2;
  comm::expect_all_well(run_as(2, halves));
  expect_near(logged(halves.output, "loss"), whole.losses, 1e-5, "resumed");
}

/// Six has divisors whose parts are no subtrees of one tree: two ranks of three slices each.
TEST_F(RanksTest, VirtualOnesHaveTheSameBitsHoweverManyRealOnesThereAre) {
  for (const auto& [virtual_ranks, sizes] :
       {std::pair{4, std::vector{1, 2, 4}}, std::pair{6, std::vector{1, 2, 3, 6}}}) {
    std::string wanted;
    std::vector<double> losses;
    for (const int ranks : sizes) {
      Options made = twenty_steps(fmt::format("{}-{}", virtual_ranks, ranks));
      made.parallel.virtual_ranks = virtual_ranks;
      made.batch.accumulation = 2;
      made.max_steps = 8;
      comm::expect_all_well(run_as(ranks, made));
      if (wanted.empty()) {
        wanted = weights(made.output);
        losses = logged(made.output, "loss");
      }
      EXPECT_EQ(weights(made.output), wanted) << virtual_ranks << " on " << ranks;
      EXPECT_EQ(logged(made.output, "loss"), losses) << virtual_ranks << " on " << ranks;
    }
  }
}

TEST_F(RanksTest, ScoreAsOneProcessDoesToTheBit) {
  const auto scores = [](const std::string& output) {
    const std::string file = output + "/eval_results.json";
    Json results = parse_json(read_file(file), file);
    for (const char* name : {"eval_runtime", "eval_samples_per_second"}) results.erase(name);
    return results;
  };
  const std::string rows = [] {
    std::string text = "sentence,label\n";
    for (int i = 0; i < 37; ++i)
      text += fmt::format("a film {},{}\n", std::string(i % 5, 'b'), i % 7 / 2.);
    return text;
  }();
  for (const bool regression : {false, true}) {
    Options alone = options(regression ? "alone-r" : "alone");
    alone.train = false;
    alone.model.model = HONE_TEST_DIR "/../models/goldens/" +
                        std::string(regression ? "roberta-regression" : "bert-words");
    alone.data.max_eval_samples = 37;
    if (regression) alone.data.validation_file = write("rows.csv", rows);
    Listener listener;
    run(alone, listener);
    for (const int ranks : {2, 3, 5}) {
      Options several = alone;
      several.threads = 1;
      several.output = folder(fmt::format("{}-{}", ranks, regression));
      comm::expect_all_well(run_as(ranks, several));
      EXPECT_EQ(scores(several.output), scores(alone.output)) << ranks;
    }
  }
}

TEST_F(RanksTest, ThatDifferAreRefusedByNameOfTheField) {
  const auto said = [&](const char* name, const std::function<void(Options&)>& change) {
    Options made = twenty_steps(name);
    const auto ends = run_as(2, made, [&](Options& own, int rank) {
      if (rank == 1) change(own);
    });
    for (const comm::RankEnd& end : ends) {
      EXPECT_EQ(end.code, 1);
      EXPECT_NE(end.message.find("rank 1"), std::string::npos) << end.message;
    }
    return ends[0].message;
  };
  EXPECT_NE(said("seed", [](Options& o) { o.seed = 7; }).find("seed"), std::string::npos);
  EXPECT_NE(said("precision", [](Options& o) { o.step.dtype = DType::bf16; }).find("precision"),
            std::string::npos);
  EXPECT_NE(said("rate", [](Options& o) { o.learning_rate = 1; }).find("learning rate"),
            std::string::npos);
  EXPECT_NE(said("data", [](Options& o) { o.data.max_train_samples = 48; }).find("training data"),
            std::string::npos);
}

TEST_F(RanksTest, WhoseModelsOrEvaluationSetsDifferAreRefused) {
  namespace fs = std::filesystem;
  const std::string golden = HONE_TEST_DIR "/../models/goldens/bert-words";
  const auto copy_with = [&](const char* file, const std::function<void(std::string&)>& change) {
    const std::string copy = folder("copy");
    fs::remove_all(copy);
    fs::copy(golden, copy);
    std::string text = read_file(copy + "/" + file);
    change(text);
    write_file(copy + "/" + file, text);
    return copy;
  };
  const auto said = [&](const char* name, const std::string& other, int64_t evaluated = 16) {
    Options made = twenty_steps(name);
    made.model.model = golden;
    const auto ends = run_as(2, made, [&](Options& own, int rank) {
      if (rank == 0) return;
      own.model.model = other;
      own.data.max_eval_samples = evaluated;
    });
    for (const comm::RankEnd& end : ends) EXPECT_EQ(end.code, 1);
    return ends[0].message;
  };
  const std::string config = said("config", copy_with("config.json", [](std::string& text) {
                                    Json json = parse_json(text, "config.json");
                                    json["layer_norm_eps"] = 0.5;
                                    text = json.dump();
                                  }));
  EXPECT_NE(config.find("config.json, layer_norm_eps: ranks differ: '1e-12' on rank 0"),
            std::string::npos)
      << config;
  EXPECT_NE(config.find("'0.5' on rank 1"), std::string::npos) << config;
  const std::string weights =
      said("weights", copy_with("model.safetensors", [](std::string& text) { text.back() ^= 1; }));
  EXPECT_NE(weights.find("weights, "), std::string::npos) << weights;
  EXPECT_NE(weights.find(": ranks differ: "), std::string::npos) << weights;
  const std::string scored = said("scored", golden, 7);
  EXPECT_NE(scored.find("evaluation data, "), std::string::npos) << scored;
}

/// A label that fp16's gradients cannot hold at any scale: one rank finds it in every step, all
/// leave those steps out, and end together when the scale can get no smaller.
TEST_F(RanksTest, EndTogetherWhereOneIsNotFinite) {
  std::string rows = "sentence,label\n";
  for (int i = 0; i < 12; ++i) rows += fmt::format("a film,{}\n", i == 5 ? 3e38 : 1.5);
  Options made = options("run");
  made.model.model = HONE_TEST_DIR "/../models/goldens/roberta-regression";
  made.data.train_file = write("rows.csv", rows);
  made.batch.train = 12;
  made.max_steps = 20;
  made.step.dtype = DType::f16;
  made.evaluate = false;
  made.threads = 1;
  const auto ends = run_as(3, made);
  for (const comm::RankEnd& end : ends) {
    EXPECT_EQ(end.code, 1);
    EXPECT_NE(end.message.find("a gradient is not a finite number"), std::string::npos)
        << end.message;
    EXPECT_NE(end.message.find("on rank "), std::string::npos) << end.message;
  }
}

TEST_F(RanksTest, ThatAreSlowGetLess) {
  Options alone = twenty_steps("alone");
  alone.data.max_train_samples = 48;
  Listener listener;
  run(alone, listener);
  Options made = alone;
  made.output = folder("several");
  made.parallel.balance = true;
  made.batch.train = kGlobalBatch / 2;
  comm::expect_all_well(comm::run_ranks(2, [&](comm::Communicator& ranks) {
    AskedListener slow(-1);
    // The sleep is longer than what a busy machine adds to a step of this model.
    slow.delay = ranks.rank() == 1 ? 0.3 : 0.002;
    run(made, slow, ranks);
  }));
  expect_near(logged(made.output, "loss"), logged(alone.output, "loss"), 1e-5, "balanced");
  int64_t last = 0;
  for (const Json& entry : log_of(made.output)) {
    if (!entry.contains("loss")) continue;
    const Json& ranks = entry.at("ranks");
    ASSERT_EQ(ranks.size(), 2u);
    const int64_t both =
        ranks[0].at("samples").get<int64_t>() + ranks[1].at("samples").get<int64_t>();
    EXPECT_EQ(both, kGlobalBatch);
    EXPECT_EQ(ranks[1].at("rank"), 1);
    EXPECT_FALSE(ranks[1].at("host").get<std::string>().empty());
    EXPECT_GT(ranks[1].at("seconds"), 0.29);
    last = ranks[1].at("samples").get<int64_t>();
  }
  EXPECT_LT(last, kGlobalBatch / 4);
}

TEST_F(RanksTest, DevicesOfOneProcessDoTheSame) {
  Options alone = twenty_steps("alone");
  Listener listener;
  run(alone, listener);
  for (const int64_t devices : {2, 3}) {
    Options made = alone;
    made.output = folder(std::to_string(devices));
    made.parallel.strategy = StrategyKind::dp;
    made.parallel.devices = devices;
    made.parallel.batch_ranks = devices == 2 ? 1 : 0;  // a launcher that starts one process says 1
    made.batch.train = kGlobalBatch / devices;
    Listener several;
    run(made, several);
    expect_near(several.losses, listener.losses, 1e-5, std::to_string(devices) + " devices");
  }
}

TEST_F(RanksTest, WaysThatContradictAreRefused) {
  const auto said = [&](const std::function<void(ParallelOptions&)>& change) {
    Options made = options("run");
    change(made.parallel);
    Listener listener;
    return complaint([&] { run(made, listener); });
  };
  EXPECT_NE(said([](ParallelOptions& o) {
              o.balance = true;
              o.virtual_ranks = 4;
            }).find("parallel.balance: "),
            std::string::npos);
  EXPECT_NE(said([](ParallelOptions& o) {
              o.strategy = StrategyKind::dp;
              o.balance = true;
            }).find("parallel.strategy: "),
            std::string::npos);
  Options made = twenty_steps("several");
  made.parallel.virtual_ranks = 4;
  const auto ends = run_as(3, made);
  EXPECT_NE(ends[0].message.find("parallel.virtual_ranks: expected a multiple of the 3 ranks"),
            std::string::npos)
      << ends[0].message;
}

TEST(DeviceOfRank, IsAGpuOfItsOwnAsFarAsTheyGo) {
  comm::expect_all_well(comm::run_ranks(3, [](comm::Communicator& ranks) {
    const std::string own = fmt::format("cuda:{}", ranks.rank());
    for (const char* any : {"auto", "cuda"}) {
      EXPECT_EQ(device_of_rank(any, ranks, 3), own);
      EXPECT_EQ(device_of_rank(any, ranks, 8), own);
      EXPECT_EQ(device_of_rank(any, ranks, 2), fmt::format("cuda:{}", ranks.rank() % 2));
      for (const int64_t few : {0, 1}) EXPECT_EQ(device_of_rank(any, ranks, few), any);
    }
    for (const char* named : {"cpu", "cuda:0", "cuda:7"}) {
      EXPECT_EQ(device_of_rank(named, ranks, 8), named);
    }
  }));
  comm::Communicator alone;
  EXPECT_EQ(device_of_rank("cuda", alone, 8), "cuda");
}

TEST(Subtrees, AreTheLargestThatLieInAPart) {
  using Ranges = std::vector<SliceRange>;
  EXPECT_EQ(subtrees({0, 8}, {0, 4}), (Ranges{{0, 4}}));
  EXPECT_EQ(subtrees({0, 8}, {2, 6}), (Ranges{{2, 4}, {4, 6}}));
  EXPECT_EQ(subtrees({0, 6}, {0, 3}), (Ranges{{0, 2}, {2, 3}}));
  EXPECT_EQ(subtrees({0, 6}, {3, 6}), (Ranges{{3, 4}, {4, 6}}));
  EXPECT_EQ(subtrees({0, 6}, {0, 6}), (Ranges{{0, 6}}));
  EXPECT_EQ(subtrees({0, 1}, {0, 1}), (Ranges{{0, 1}}));
}

}  // namespace
}  // namespace hone::train
