#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "cli/commands.h"
#include "image/goldens.h"
#include "image/png_writer.h"
#include "tiny/tiny_images.h"

// Images through the whole program, by the small family of images that tests know.
namespace hone::cli {
namespace {

struct ImageRun {
  int code = 0;
  std::string out;
  std::string err;
  std::vector<Json> objects() const {
    std::vector<Json> lines;
    std::istringstream stream(out);
    for (std::string line; std::getline(stream, line);) lines.push_back(parse_json(line, "line"));
    return lines;
  }
};

class Images : public testing::Test {
 protected:
  Images() {
    tiny::register_tiny_images();
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = testing::TempDir() + "hone-images-" + test->name() + "-" + std::to_string(::getpid());
    tiny::write_tiny_config(path("config"));
    write_classes("train", 12);
    write_classes("dev", 5);
  }
  ~Images() override { std::filesystem::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + "/" + name; }

  /// A folder of classes whose images are of their colour.
  void write_classes(const std::string& name, int each) const {
    static constexpr const char* kNames[] = {"blau", "grün", "红"};
    for (int c = 0; c < 3; ++c) {
      std::filesystem::create_directories(path(name) + "/" + kNames[c]);
      for (int i = 0; i < each; ++i) {
        const int bright = 150 + 7 * i, dark = 5 * i;
        tiny::write_image(path(name) + "/" + kNames[c] + "/" + std::to_string(i) + ".png",
                          c == 2 ? bright : dark, c == 1 ? bright : dark, c == 0 ? bright : dark,
                          static_cast<unsigned>(10 * i + c));
      }
    }
  }

  static ImageRun hone_of(const Words& words, const std::string& input = "") {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    ImageRun done;
    const std::string file = testing::TempDir() + "hone-input-" + std::to_string(::getpid());
    write_file(file, input);
    const int kept = ::dup(0);
    EXPECT_NE(std::freopen(file.c_str(), "r", stdin), nullptr);
    done.code = run(words);
    ::dup2(kept, 0);
    ::close(kept);
    std::filesystem::remove(file);
    done.out = testing::internal::GetCapturedStdout();
    done.err = testing::internal::GetCapturedStderr();
    return done;
  }

  Words training(const std::string& output, const Words& more = {}) const {
    Words words = {"train",        "--config_name", path("config"), "--image_processor_name",
                   path("config"), "--task_name",   "image",        "--train_dir",
                   path("train"),  "--output_dir",  path(output),   "--learning_rate",
                   "0.05",         "--max_steps",   "40",           "--device",
                   "cpu",          "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void train_model() const {
    const ImageRun done =
        hone_of(training("model", {"--validation_dir", path("dev"), "--no_augment"}));
    ASSERT_EQ(done.code, 0) << done.err;
  }
  /// What is said of an input that is refused, from the file on.
  static std::string line_of(const ImageRun& done) {
    EXPECT_EQ(done.code, 2) << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
    return done.err;
  }
  static void expect_in(const std::string& text, const std::string& wanted) {
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
  }

  std::string root_;
};

TEST_F(Images, AreTrainedScoredLabelledAndEmbedded) {
  train_model();
  const Json results = parse_json(read_file(path("model/all_results.json")), "results");
  EXPECT_GT(results.at("eval_accuracy").get<double>(), 0.9);
  EXPECT_EQ(results.at("eval_top5_accuracy"), 1);
  const Json config = parse_json(read_file(path("model/config.json")), "config");
  EXPECT_EQ(config.at("id2label").at("2"), "红");

  const ImageRun eval = hone_of({"eval", "--model", path("model"), "--validation_dir", path("dev"),
                                 "--device", "cpu", "--json"});
  ASSERT_EQ(eval.code, 0) << eval.err;
  const Json scores = eval.objects().at(0);
  EXPECT_EQ(scores.at("samples"), 15);
  EXPECT_EQ(scores.at("metrics"),
            Json({{"accuracy", results.at("eval_accuracy")}, {"top5_accuracy", 1.0}}));
  EXPECT_FALSE(scores.contains("tokens"));

  const ImageRun predict =
      hone_of({"predict", "--model", path("model"), "--input", path("dev"), "--raw"});
  ASSERT_EQ(predict.code, 0) << predict.err;
  const std::vector<Json> answers = predict.objects();
  ASSERT_EQ(answers.size(), 15u);
  EXPECT_TRUE(predict.out.starts_with("{\"file\":")) << predict.out;
  EXPECT_EQ(answers[5].at("file"), path("dev/grün/0.png"));
  EXPECT_EQ(answers[5].at("label"), "grün");
  EXPECT_EQ(answers[5].at("width"), tiny::kSide);
  EXPECT_EQ(answers[5].at("logits").size(), 3u);
  EXPECT_EQ(answers[5].at("scores").size(), 3u);

  const std::string list = path("dev/红/1.png") + "\n" + path("dev/blau/2.png") + "\n";
  const auto listed = hone_of({"predict", "--model", path("model")}, list).objects();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].at("file"), path("dev/红/1.png"));
  EXPECT_EQ(listed[1].at("file"), path("dev/blau/2.png"));
  EXPECT_EQ(listed[1].at("scores"), answers[2].at("scores")) << "the same bits in any batch";
  const auto one =
      hone_of({"predict", "--model", path("model"), "--input", path("dev/blau/2.png")}).objects();
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].at("scores"), answers[2].at("scores"));

  const auto vectors =
      hone_of({"embed", "--model", path("model"), "--input", path("dev")}).objects();
  ASSERT_EQ(vectors.size(), 15u);
  EXPECT_EQ(vectors[0].at("embedding").size(), 16u);
  EXPECT_EQ(vectors[0].at("file"), path("dev/blau/0.png"));
}

TEST_F(Images, AreListedInAFileToo) {
  std::string rows = "path,label\n";
  for (int i = 0; i < 12; ++i) {
    for (const char* name : {"blau", "grün", "红"}) {
      rows += "train/" + std::string(name) + "/" + std::to_string(i) + ".png," + name + "\n";
    }
  }
  write_file(path("all.csv"), rows);
  Words words = training("listed", {"--train_file", path("all.csv"), "--no_augment"});
  std::erase(words, "--train_dir");
  std::erase(words, path("train"));
  // A share of each class validates where nothing else does.
  words.insert(words.end(), {"--train_val_split", "0.25", "--json"});
  const ImageRun done = hone_of(words);
  ASSERT_EQ(done.code, 0) << done.err;
  const ImageRun eval =
      hone_of({"eval", "--model", path("listed"), "--validation_file", path("all.csv"), "--json"});
  ASSERT_EQ(eval.code, 0) << eval.err;
  EXPECT_EQ(eval.objects().at(0).at("samples"), 36);
}

TEST_F(Images, SetsByNameAreRead) {
  std::string bytes;
  for (int i = 0; i < 40; ++i) {
    bytes += static_cast<char>(i % 10) + std::string(1024, static_cast<char>(25 * (i % 10))) +
             std::string(2048, '\x40');
  }
  for (const char* name : {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
                           "data_batch_5", "test_batch"}) {
    write_file(path("train/") + name + ".bin", bytes);
  }
  Words words = training("cifar", {"--data", path("train"), "--json"});
  std::replace(words.begin(), words.end(), std::string("image"), std::string("cifar10"));
  std::erase(words, "--train_dir");
  words.erase(std::find(words.begin(), words.end(), path("train")));
  const ImageRun done = hone_of(words);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(done.objects().at(0).contains("eval_top5_accuracy")) << done.out;
  const ImageRun eval = hone_of({"eval", "--model", path("cifar"), "--task_name", "cifar10",
                                 "--data", path("train"), "--json"});
  EXPECT_EQ(eval.objects().at(0).at("samples"), 40) << eval.err;
  EXPECT_EQ(eval.objects().at(0).at("metrics").size(), 2u);
}

TEST_F(Images, ARunThatWasTakenUpHasTheBitsOfTheStraightOne) {
  const Words more = {"--validation_dir",
                      path("dev"),
                      "--random_resized_crop",
                      "--random_flip",
                      "--cutout",
                      "1",
                      "--mixup_alpha",
                      "0.4",
                      "--cutmix_alpha",
                      "1",
                      "--save_strategy",
                      "steps",
                      "--save_steps",
                      "13",
                      "--label_smoothing_factor",
                      "0.1",
                      "--ema_decay",
                      "0.9"};
  ASSERT_EQ(hone_of(training("straight", more)).code, 0);
  std::filesystem::copy(path("straight"), path("resumed"),
                        std::filesystem::copy_options::recursive);
  for (const char* late : {"26", "39", "40"}) {
    std::filesystem::remove_all(path("resumed/checkpoint-") + late);
  }
  Words again = training("resumed", more);
  again.insert(again.end(), {"--resume_from_checkpoint", "last", "--dataloader_num_workers", "3"});
  const ImageRun done = hone_of(again);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(read_file(path("resumed/model.safetensors")),
            read_file(path("straight/model.safetensors")));
  // Other choices are another run.
  Words other = training("straight", {"--validation_dir", path("dev"), "--random_resized_crop",
                                      "--random_flip", "--label_smoothing_factor", "0.1",
                                      "--ema_decay", "0.9", "--resume_from_checkpoint", "last"});
  expect_in(line_of(hone_of(other)), "augmentation");
}

TEST_F(Images, MixedOnesHaveNoTeacher) {
  const Words more = {"--mixup_alpha", "0.4", "--distill", path("config")};
  expect_in(line_of(hone_of(training("taught", more))),
            "--distill: not with images that are mixed");
}

TEST_F(Images, BadOnesAreOneLineThatNamesThem) {
  train_model();
  const std::string jpeg = read_file(image::kGoldens + "420.jpg");
  const std::string png = read_file(image::kGoldens + "rgb.png");
  std::string bomb = png;
  bomb.replace(16, 8, std::string("\0\0\xea\x60\0\0\xea\x60", 8));
  std::string empty_size = png;
  empty_size.replace(16, 8, std::string(8, '\0'));
  const std::pair<const char*, std::string> bad[] = {
      {"cut.jpg", jpeg.substr(0, jpeg.size() / 2)},
      {"cut.png", png.substr(0, png.size() / 2)},
      {"text.png", "no image"},
      {"nothing.jpg", ""},
      {"bomb.png", bomb},
      {"size.png", empty_size},
      {"damaged.webp", read_file(image::kGoldens + "lossy.webp").replace(20, 12, 12, '\xff')}};
  for (const auto& [name, bytes] : bad) {
    write_file(path(name), bytes);
    const std::string one =
        line_of(hone_of({"predict", "--model", path("model"), "--input", path(name)}));
    expect_in(one, std::string("hone: ") + path(name) + ": ");
    write_file(path("list.txt"), "dev/blau/0.png\n" + std::string(name) + "\n");
    const ImageRun listed =
        hone_of({"predict", "--model", path("model"), "--input", path("list.txt")});
    EXPECT_EQ(line_of(listed), one);
    EXPECT_EQ(listed.objects().size(), 1u) << "what was before it is answered";
  }
  expect_in(line_of(hone_of({"predict", "--model", path("model"), "--input",
                             image::kGoldens + "rgb.png", "--max_image_pixels", "100"})),
            "more than 100 pixels");
  // A name does not say what an image is.
  write_file(path("jpeg.png"), jpeg);
  EXPECT_EQ(hone_of({"predict", "--model", path("model"), "--input", path("jpeg.png")}).code, 0);
  expect_in(line_of(hone_of({"predict", "--model", path("model"), "--input", path("none.png")})),
            "none.png");
}

TEST_F(Images, BadOnesAreLeftOutWhereAskedAndListed) {
  train_model();
  write_file(path("dev/grün/1.png"), "bad");
  write_file(path("dev/红/0.png"), "");
  const ImageRun done =
      hone_of({"predict", "--model", path("model"), "--input", path("dev"), "--skip_bad_images"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.objects().size(), 13u);
  expect_in(done.err, path("dev/grün/1.png") + ": expected a JPEG");
  expect_in(done.err, path("dev/红/0.png") + ": empty");
  expect_in(done.err, "2 of 15 images cannot be read and were left out");

  write_file(path("train/blau/3.png"), "bad");
  Words words = training("skipped", {"--validation_dir", path("dev"), "--no_augment"});
  expect_in(line_of(hone_of(words)), path("train/blau/3.png") + ": expected a JPEG");
  words.push_back("--skip_bad_images");
  std::erase(words, "--quiet");
  const ImageRun trained = hone_of(words);
  EXPECT_EQ(trained.code, 0) << trained.err;
  expect_in(trained.err, "1 images cannot be read and are left out");
  expect_in(trained.err, path("train/blau/3.png") + ": expected a JPEG");
}

TEST_F(Images, FoldersThatTeachNothingAreRefused) {
  std::filesystem::create_directory(path("train/leer"));
  expect_in(line_of(hone_of(training("x"))), "no sample of class 'leer'");
  std::filesystem::remove(path("train/leer"));
  write_classes("dev", 1);
  std::filesystem::rename(path("dev/blau"), path("dev/neu"));
  expect_in(line_of(hone_of(training("x", {"--validation_dir", path("dev")}))),
            "class 'neu': is not among the 3 classes of the training set");
  std::filesystem::create_directory_symlink(path("train"), path("train/blau/up"));
  expect_in(line_of(hone_of(training("x"))), "links in a circle");
  std::filesystem::remove(path("train/blau/up"));
  std::filesystem::remove_all(path("train/blau"));
  std::filesystem::remove_all(path("train/红"));
  expect_in(line_of(hone_of(training("x"))), "expected at least two classes, got only 'grün'");
}

TEST_F(Images, WhatDoesNotFitTogetherIsSaid) {
  expect_in(line_of(hone_of(training("x", {"--no_augment", "--cutout", "2"}))),
            "--no_augment: not together with cutout 2");
  expect_in(line_of(hone_of({"train", "--output_dir", path("x"), "--cutout", "2", "--quiet"})),
            "reads texts, which are not augmented");
  expect_in(line_of(hone_of({"train", "--train_dir", path("train"), "--output_dir", path("x"),
                             "--device", "cpu"})),
            "has images, and");
  train_model();
  write_file(path("dev.tsv"), "sentence\tlabel\na\t1\nb\t0\n");
  expect_in(
      line_of(hone_of({"eval", "--model", path("model"), "--task_name", "sst2", "--data", root_})),
      "--task_name: has texts, and " + path("model") + " reads images");
  expect_in(line_of(hone_of({"serve", "--model", path("model"), "--port", "0"})),
            "reads images; hone serves models of texts");
}

}  // namespace
}  // namespace hone::cli
