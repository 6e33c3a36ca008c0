// Norms take their statistics over the whole batch, however many ranks share it.
#include "image/png_writer.h"
#include "io/weights.h"
#include "models/resnet_golden.h"
#include "train/checkpoint.h"
#include "train/ranks_fixture.h"

namespace hone::train {
namespace {

class ImageRanks : public RanksTest {
 protected:
  ImageRanks() {
    write_classes("train", 17);
    write_classes("dev", 4);
  }

  void write_classes(const std::string& name, int each) const {
    static constexpr const char* kNames[] = {"a", "b", "c"};
    for (int c = 0; c < 3; ++c) {
      const std::string parent = folder(name) + "/" + kNames[c];
      std::filesystem::create_directories(parent);
      for (int i = 0; i < each; ++i) {
        write_file(fmt::format("{}/{:02}.png", parent, i),
                   image::png_of(models::made_image(3 * i + c, 32, 38)));
      }
    }
  }

  /// Twenty steps of a tiny new ResNet over 51 images: an epoch's last batch has three.
  Options twenty_image_steps(const std::string& name) const {
    Options made = twenty_steps(name);
    made.data.max_train_samples = -1;
    made.data.max_eval_samples = -1;
    made.data.task = "image";
    made.data.train_folder = folder("train");
    made.data.validation_folder = folder("dev");
    made.model.config = made.model.tokenizer = HONE_TEST_DIR "/../models/resnets/basic";
    made.optimizer.kind = optim::OptimizerKind::sgd;
    made.optimizer.momentum = 0.9;
    made.learning_rate = 0.02;
    return made;
  }

  /// The running statistics of a folder's model, by name.
  static std::map<std::string, std::vector<float>> statistics_of(const std::string& output) {
    std::map<std::string, std::vector<float>> found;
    const auto file = io::Weights::open(output);
    for (const io::TensorInfo& tensor : file->tensors()) {
      if (tensor.name.find("running_") == std::string::npos) continue;
      std::vector<float>& values = found[tensor.name];
      values.resize(static_cast<size_t>(tensor.elements));
      file->read(tensor, 0, tensor.elements, values.data());
    }
    return found;
  }

  static void expect_same_run(const std::string& output, const std::string& wanted) {
    expect_near(logged(output, "loss"), logged(wanted, "loss"), 1e-3, output);
    expect_near(logged(output, "eval_loss"), logged(wanted, "eval_loss"), 1e-3, output);
    const auto got = statistics_of(output), all = statistics_of(wanted);
    ASSERT_FALSE(all.empty());
    for (const auto& [name, values] : all) {
      ASSERT_EQ(got.at(name).size(), values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(got.at(name)[i], values[i], 1e-3 * (1 + std::abs(values[i]))) << name;
      }
    }
  }
};

TEST_F(ImageRanks, HaveTheLossesAndStatisticsOfOneProcess) {
  const Options alone = twenty_image_steps("alone");
  Listener listener;
  run(alone, listener);
  for (const int ranks : {2, 3, 4}) {  // one of four has none of three images
    Options several = alone;
    several.output = folder(std::to_string(ranks));
    comm::expect_all_well(run_as(ranks, several));
    expect_same_run(several.output, alone.output);
  }
}

TEST_F(ImageRanks, ThatAccumulateShareTheStatisticsOfEachBatch) {
  Options alone = twenty_image_steps("alone");
  alone.batch.accumulation = 2;
  alone.max_steps = 6;
  Listener listener;
  run(alone, listener);
  Options several = alone;
  several.output = folder("several");
  comm::expect_all_well(run_as(3, several));
  expect_same_run(several.output, alone.output);
}

TEST_F(ImageRanks, OfTheSameNumberHaveTheSameBits) {
  Options made = twenty_image_steps("first");
  made.max_steps = 6;
  comm::expect_all_well(run_as(3, made));
  const std::string wanted = weights(made.output);
  made.output = folder("second");
  comm::expect_all_well(run_as(3, made));
  EXPECT_EQ(weights(made.output), wanted);
}

/// On a GPU statistics are those of a rank's own share; what is kept of them is the first rank's on
/// all, so that ranks score with one model, which is the one that is written.
TEST_F(ImageRanks, OnAGpuScoreWithTheModelThatIsWritten) {
  Options made = twenty_image_steps("several");
  made.max_steps = 3;
  made.device = "cuda";
  // The parent must not open the device: what it opens, a forked rank cannot use.
  const auto ends = run_as(2, made);
  if (ends[0].message.find("device") == 0) GTEST_SKIP() << "no GPU: " << ends[0].message;
  comm::expect_all_well(ends);
  Options again = made;
  again.output = folder("alone");
  again.train = false;
  again.device = "cpu";
  again.model.config = again.model.tokenizer = "";
  again.model.model = made.output;
  Listener listener;
  run(again, listener);
  const auto loss_of = [](const std::string& output) {
    const std::string file = output + "/eval_results.json";
    return parse_json(read_file(file), file).at("eval_loss").get<double>();
  };
  EXPECT_NEAR(loss_of(made.output), loss_of(again.output), 1e-4);
}

}  // namespace
}  // namespace hone::train
