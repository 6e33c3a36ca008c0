// What a hostile or broken folder gets: exit code 2, one line that names file, field and value.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>

#include "base/file.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

/// A safetensors file in two parts.
struct Safetensors {
  Json header;
  std::string data;

  explicit Safetensors(const std::string& bytes) {
    uint64_t size = 0;
    std::memcpy(&size, bytes.data(), sizeof size);
    header = Json::parse(bytes.substr(8, size));
    data = bytes.substr(8 + size);
  }
  std::string bytes() const {
    const std::string text = header.dump();
    const uint64_t size = text.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof size) + text + data;
  }
};

/// A way to spoil a model folder, and what the complaint must name.
struct Spoilt {
  std::string name;
  std::function<void(const std::string& folder)> spoil;
  Words parts;
};

void PrintTo(const Spoilt& spoilt, std::ostream* out) { *out << spoilt.name; }

void write(const std::string& path, const std::string& bytes) {
  fs::remove(path);
  write_file(path, bytes);
}

std::function<void(const std::string&)> weights(std::function<void(Safetensors&)> change) {
  return [change = std::move(change)](const std::string& folder) {
    const std::string path = folder + "/model.safetensors";
    Safetensors file(read_file(path));
    change(file);
    write(path, file.bytes());
  };
}

std::function<void(const std::string&)> raw_weights(
    std::function<std::string(std::string)> change) {
  return [change = std::move(change)](const std::string& folder) {
    const std::string path = folder + "/model.safetensors";
    write(path, change(read_file(path)));
  };
}

std::function<void(const std::string&)> json(const std::string& name,
                                             std::function<void(Json&)> change) {
  return [name, change = std::move(change)](const std::string& folder) {
    const std::string path = folder + "/" + name;
    Json value = Json::parse(read_file(path));
    change(value);
    write(path, value.dump());
  };
}

constexpr const char* kWord = "bert.embeddings.word_embeddings.weight";

std::vector<Spoilt> weight_cases() {
  const auto set_float = [](Safetensors& file, float value) {
    const auto begin = file.header.at(kWord).at("data_offsets")[0].get<size_t>();
    std::memcpy(file.data.data() + begin + 20, &value, sizeof value);
  };
  return {
      {"Truncated",
       raw_weights([](std::string b) { return b.substr(0, b.size() - 100); }),
       {"model.safetensors"}},
      {"Empty",
       raw_weights([](const std::string&) { return std::string(); }),
       {"model.safetensors"}},
      {"FourGigabyteHeader",
       raw_weights([](const std::string& b) {
         return std::string("\0\0\0\0\1\0\0\0", 8) + b.substr(8, 1016);
       }),
       {"model.safetensors", "4294967296"}},
      {"HugeHeader",
       raw_weights([](const std::string& b) { return std::string(8, '\xff') + b.substr(8); }),
       {"model.safetensors"}},
      {"HeaderIsNoJson",
       raw_weights([](std::string b) {
         b[8] = '[';
         return b;
       }),
       {"model.safetensors"}},
      {"Overlapping",
       weights([](Safetensors& f) {
         f.header["classifier.bias"]["data_offsets"] = f.header[kWord]["data_offsets"];
         f.header["classifier.bias"]["shape"] = f.header[kWord]["shape"];
       }),
       {"model.safetensors"}},
      {"OutOfRange",
       weights([](Safetensors& f) {
         auto& offsets = f.header["classifier.bias"]["data_offsets"];
         offsets = {f.data.size() + 8, f.data.size() + 16};
       }),
       {"model.safetensors", "byte"}},
      {"LyingShape",
       weights([](Safetensors& f) {
         f.header[kWord]["shape"] = {66, 21};
       }),
       {"model.safetensors", kWord}},
      {"OverflowingShape",
       weights([](Safetensors& f) {
         f.header[kWord]["shape"] = {int64_t{1} << 62, int64_t{1} << 62};
       }),
       {"model.safetensors", kWord}},
      {"UnknownDtype",
       weights([](Safetensors& f) { f.header[kWord]["dtype"] = "F3"; }),
       {"model.safetensors", kWord, "F3"}},
      {"NotANumber",
       weights([=](Safetensors& f) { set_float(f, std::numeric_limits<float>::quiet_NaN()); }),
       {"model.safetensors", kWord, "nan"}},
      {"Infinite",
       weights([=](Safetensors& f) { set_float(f, std::numeric_limits<float>::infinity()); }),
       {"model.safetensors", kWord, "inf"}},
      {"MissingWeight",
       weights([](Safetensors& f) {
         f.header["unknown.weight"] = f.header["bert.encoder.layer.0.output.dense.weight"];
         f.header.erase("bert.encoder.layer.0.output.dense.weight");
       }),
       {"model.safetensors", "encoder.layer.0.output.dense.weight"}},
      {"MisshapenWeight",
       json("config.json", [](Json& c) { c["intermediate_size"] = 28; }),
       {"model.safetensors", "intermediate.dense.weight", "27", "28"}},
      {"NoWeights",
       [](const std::string& folder) { fs::remove(folder + "/model.safetensors"); },
       {"bert-words", "model.safetensors"}},
  };
}

std::vector<Spoilt> config_cases() {
  const auto config = [](const char* field, const Json& value) {
    return json("config.json", [=](Json& c) { c[field] = value; });
  };
  return {
      {"UnknownArchitecture", config("model_type", "gpt2"), {"config.json", "model_type", "gpt2"}},
      {"NoConfig",
       [](const std::string& folder) { fs::remove(folder + "/config.json"); },
       {"config.json"}},
      {"ConfigIsNoJson",
       [](const std::string& folder) { write(folder + "/config.json", "{\"a\": "); },
       {"config.json"}},
      {"HugeHiddenSize", config("hidden_size", int64_t{1} << 40), {"config.json", "hidden_size"}},
      {"NegativeLayers",
       config("num_hidden_layers", -1),
       {"config.json", "num_hidden_layers", "-1"}},
      {"UnevenHeads", config("num_attention_heads", 7), {"config.json", "20", "7"}},
      {"UnknownActivation",
       config("hidden_act", "swish2"),
       {"config.json", "hidden_act", "swish2"}},
      {"TextForNumber", config("vocab_size", "many"), {"config.json", "vocab_size", "many"}},
      {"VocabularyExceedsEmbeddings",
       json("tokenizer.json", [](Json& t) { t["model"]["vocab"]["extra"] = 66; }),
       {"bert-words", "ids up to 66", "66 embeddings"}},
      {"TokenizerIsNoJson",
       [](const std::string& folder) { write(folder + "/tokenizer.json", "[1,"); },
       {"tokenizer.json"}},
      {"UnknownTokenizerModel",
       json("tokenizer.json", [](Json& t) { t["model"]["type"] = "Magic"; }),
       {"tokenizer.json", "Magic"}},
      {"UnknownNormalizer",
       json("tokenizer.json",
            [](Json& t) {
              t["normalizer"] = {{"type", "Mystery"}};
            }),
       {"tokenizer.json", "Mystery"}},
      {"NoTokenizer",
       [](const std::string& folder) {
         fs::remove(folder + "/tokenizer.json");
         fs::remove(folder + "/vocab.txt");
       },
       {"bert-words", "tokenizer.json"}},
  };
}

class BadFolder : public testing::TestWithParam<Spoilt> {};

TEST_P(BadFolder, IsRefusedInOneLine) {
  const Scratch scratch;
  const std::string folder = scratch.copy("bert-words");
  GetParam().spoil(folder);
  expect_refused(hone({"predict", "--model", folder}, "the film\n"), GetParam().parts);
  const Finished converted =
      hone({"convert", "--model", folder, "--output", scratch / "converted"});
  EXPECT_TRUE(converted.code == 0 || converted.code == 2) << converted.code << converted.err;
  if (converted.code == 2) {
    EXPECT_EQ(scratch.entries(), Words{"bert-words"});
  }
}

const auto kName = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(Weights, BadFolder, testing::ValuesIn(weight_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Config, BadFolder, testing::ValuesIn(config_cases()), kName);

TEST(BadPaths, AreNamed) {
  const Scratch scratch;
  const std::string model = golden("bert-words");
  expect_refused(hone({"predict", "--model", scratch / "none"}), {scratch / "none"});
  expect_refused(hone({"predict", "--model", model, "--input", scratch / "none.txt"}),
                 {"none.txt", "No such file"});
  expect_refused(hone({"predict", "--model", model, "--input", scratch.path()}), {scratch.path()});
  const std::string file = scratch.write("file", "x");
  expect_refused(hone({"predict", "--model", file}), {file});
  expect_refused(hone({"info", "--model", "no/such-model"}), {"no/such-model", "downloaded"});
  if (::geteuid() != 0) {
    fs::permissions(file, fs::perms::none);
    expect_refused(hone({"predict", "--model", model, "--input", file}), {file, "denied"});
  }
}

TEST(LongInput, IsCutAndReportedOrRefused) {
  const Words words = {"predict", "--model", golden("bert-words")};
  std::string text = "the film is great\n";
  for (int i = 0; i < 40; ++i) text += "the film ";
  const Finished cut = hone(words, text + "\n");
  EXPECT_EQ(cut.code, 0);
  const std::vector<Json> answers = cut.objects();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].at("truncated"), false);
  EXPECT_FALSE(answers[0].contains("original_tokens"));
  EXPECT_EQ(answers[1].at("tokens"), 24);
  EXPECT_EQ(answers[1].at("truncated"), true);
  EXPECT_EQ(answers[1].at("original_tokens"), 82);
  EXPECT_EQ(cut.err, "hone: 1 of 2 texts were cut to 24 tokens\n");
  Words strict = words;
  strict.emplace_back("--no-truncate");
  const Finished refused = hone(strict, text + "\n");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.objects().size(), 1u);  // the answer before it
  EXPECT_EQ(refused.err, "hone: standard input: line 2: 82 tokens are more than the limit of 24\n");
  Words quiet = words;
  quiet.emplace_back("--quiet");
  EXPECT_EQ(hone(quiet, text + "\n").err, "");
}

TEST(Unexpected, WeightsAreTold) {
  const Scratch scratch;
  const std::string folder = scratch.copy("bert-words");
  weights([](Safetensors& f) {
    f.header["extra.weight"] = {
        {"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {f.data.size(), f.data.size() + 4}}};
    f.data.append(4, '\0');
  })(folder);
  const Finished done = hone({"predict", "--model", folder}, "the film\n");
  EXPECT_EQ(done.code, 0);
  EXPECT_NE(done.err.find("extra.weight"), std::string::npos) << done.err;
  EXPECT_EQ(hone({"predict", "--quiet", "--model", folder}, "the film\n").err, "");
}

}  // namespace
}  // namespace hone::cli
