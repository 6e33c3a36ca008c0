#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "cli/commands.h"
#include "device/cuda.h"
#include "io/weights.h"
#include "tiny/tiny_images.h"

// A family that only this test knows goes through the whole program.
namespace hone::cli {
namespace {

class SecondFamily : public testing::Test {
 protected:
  SecondFamily() {
    tiny::register_tiny_images();
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = testing::TempDir() + "hone-tiny-" + test->name() + "-" + std::to_string(::getpid());
    tiny::write_tiny_config(root_ + "/config");
    write_split("train", 60);
    write_split("dev", 21);
  }
  ~SecondFamily() override { std::filesystem::remove_all(root_); }

  /// Images whose first pixel is mostly red, green or blue, which is their label.
  void write_split(const std::string& name, int count) {
    static constexpr const char* kNames[] = {"red", "green", "blue"};
    std::string rows = "text,label\n";
    std::string paths;
    for (int i = 0; i < count; ++i) {
      const int bright = 140 + 7 * (i % 13), dark = 3 * (i % 17);
      const std::string path = root_ + "/" + name + std::to_string(i) + ".png";
      tiny::write_image(path, i % 3 == 0 ? bright : dark, i % 3 == 1 ? bright : dark,
                        i % 3 == 2 ? bright : dark, static_cast<unsigned>(i));
      rows += path + "," + kNames[i % 3] + "\n";
      paths += path + "\n";
    }
    write_file(root_ + "/" + name + ".csv", rows);
    write_file(root_ + "/" + name + ".txt", paths);
  }

  Words training(const std::string& output, const std::string& device) const {
    return {"train",
            "--config_name",
            root_ + "/config",
            "--tokenizer_name",
            root_ + "/config",
            "--train_file",
            root_ + "/train.csv",
            "--validation_file",
            root_ + "/dev.csv",
            "--output_dir",
            root_ + "/" + output,
            "--max_steps",
            "40",
            "--learning_rate",
            "0.05",
            "--save_strategy",
            "steps",
            "--save_steps",
            "15",
            "--logging_steps",
            "5",
            "--device",
            device,
            "--no_augment",
            "--quiet"};
  }

  static std::string run_for_output(const Words& words, int expected = 0) {
    testing::internal::CaptureStdout();
    const int code = run(words);
    std::string out = testing::internal::GetCapturedStdout();
    EXPECT_EQ(code, expected);
    return out;
  }

  std::string bytes_of(const std::string& file) const { return read_file(root_ + "/" + file); }

  void goes_through_all(const std::string& device) {
    run_for_output(training("straight", device));
    const Json results = parse_json(bytes_of("straight/all_results.json"), "results");
    EXPECT_GT(results.at("eval_accuracy").get<double>(), 0.95);

    // Statistics were written in training, and are in the folder.
    const auto weights = io::Weights::open(root_ + "/straight");
    const io::TensorInfo* mean = weights->find("norm.running_mean");
    ASSERT_NE(mean, nullptr);
    std::vector<float> values(static_cast<size_t>(mean->elements));
    weights->read(*mean, 0, mean->elements, values.data());
    EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](float x) { return x != 0; }));

    // A run that was taken up has the bits of the straight one, statistics included.
    std::filesystem::copy(root_ + "/straight", root_ + "/resumed",
                          std::filesystem::copy_options::recursive);
    std::filesystem::remove_all(root_ + "/resumed/checkpoint-40");
    std::filesystem::remove_all(root_ + "/resumed/checkpoint-30");
    Words again = training("resumed", device);
    again.insert(again.end(), {"--resume_from_checkpoint", "last"});
    run_for_output(again);
    EXPECT_EQ(bytes_of("resumed/model.safetensors"), bytes_of("straight/model.safetensors"));

    const Json score =
        parse_json(run_for_output({"eval", "--model", root_ + "/straight", "--test_file",
                                   root_ + "/dev.csv", "--device", device, "--json"}),
                   "eval");
    EXPECT_EQ(score.at("metrics").at("accuracy"), results.at("eval_accuracy"));

    std::istringstream lines(run_for_output({"predict", "--model", root_ + "/straight", "--input",
                                             root_ + "/dev.txt", "--device", device, "--raw"}));
    int count = 0, right = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      static constexpr const char* kNames[] = {"red", "green", "blue"};
      right += parse_json(line, "answer").at("label") == kNames[count % 3];
    }
    EXPECT_EQ(count, 21);
    EXPECT_GE(right, 20);
  }

  std::string root_;
};

TEST_F(SecondFamily, GoesThroughTheWholeProgram) { goes_through_all("cpu"); }

TEST_F(SecondFamily, GoesThroughTheWholeProgramOnAGpu) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  goes_through_all("cuda");
}

TEST_F(SecondFamily, InfoAndConvertKnowIt) {
  run_for_output(training("straight", "cpu"));
  const Json info =
      parse_json(run_for_output({"info", "--model", root_ + "/straight", "--json"}), "info");
  EXPECT_EQ(info.at("model").at("family"), "tiny-images");
  EXPECT_EQ(info.at("model").at("side"), tiny::kSide);
  const std::string text = run_for_output({"info", "--model", root_ + "/straight"});
  EXPECT_NE(text.find(" pixels"), std::string::npos) << text;
  run_for_output({"convert", "--model", root_ + "/straight", "--output", root_ + "/half", "--dtype",
                  "bf16", "--quiet"});
  EXPECT_TRUE(file_exists(root_ + "/half/model.safetensors"));
}

TEST_F(SecondFamily, AnImageThatCannotBeReadIsOneLine) {
  run_for_output(training("straight", "cpu"));
  write_file(root_ + "/cut.png", "abc");
  write_file(root_ + "/bad.txt", root_ + "/cut.png\n");
  testing::internal::CaptureStderr();
  run_for_output({"predict", "--model", root_ + "/straight", "--input", root_ + "/bad.txt"}, 2);
  const std::string error = testing::internal::GetCapturedStderr();
  EXPECT_NE(error.find("cut.png: expected a JPEG, PNG or WebP image"), std::string::npos) << error;
}

}  // namespace
}  // namespace hone::cli
