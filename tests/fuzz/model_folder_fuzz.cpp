// layers: models
#include <unistd.h>

#include "device/cpu_info.h"
#include "fuzz/scratch_folder.h"
#include "fuzz/weights_checks.h"
#include "models/folder.h"
#include "models/load.h"
#include "models/model.h"

namespace {

using namespace hone::models;

void read_index(std::string_view text) {
  hone::put_file("shards/model.safetensors.index.json", text);
  hone::check_weights("shards", 296 + 256);
}

/// An adapter that is accepted is laid over its base, beside the weights and into them.
void read_adapter(std::string_view text) {
  hone::put_file("adapter/adapter_config.json", text);
  hone::accepts("", [] {
    const ModelFolder folder = open_model_folder("adapter");
    const auto adapter = open_adapter(folder);
    const auto weights = hone::io::Weights::open(folder.path);
    MakeOptions options{.target = hone::Isa::avx2};
    const auto merged = family_of(*folder.config).make(*folder.config, options);
    preview_load(*merged, *weights, {.adapter = adapter.get()});
    options.lora = adapter->options();
    const auto beside = family_of(*folder.config).make(*folder.config, options);
    preview_load(*beside, *weights, {.adapter = adapter.get()});
  });
}

void read_modules(std::string_view text) {
  const auto parts = hone::split_input(text, 3);
  hone::put_file("sentence/modules.json", parts[0]);
  hone::put_file("sentence/1_Pooling/config.json", parts[1]);
  hone::put_file("sentence/sentence_bert_config.json", parts[2]);
  hone::accepts("sentence", [] {
    const ModelFolder folder = open_model_folder("sentence");
    if (!folder.path.starts_with("sentence")) std::abort();
    if (folder.sentence_length && *folder.sentence_length < 1) std::abort();
  });
}

/// Works in a folder with a model of each kind, whose names an input may then hold.
const hone::ScratchFolder& enter_scratch() {
  static const hone::ScratchFolder scratch;
  scratch.copy("io/goldens/shards", "shards");
  scratch.copy("models/goldens/bert-words", "bert-words");
  scratch.copy("train/goldens/lora-bert", "adapter");
  scratch.copy("models/goldens/sentence-bert-mean", "sentence");
  if (::chdir(scratch.path().c_str()) != 0) std::abort();
  return scratch;
}

}  // namespace

/// The first byte chooses the file: model.safetensors.index.json, adapter_config.json, or
/// modules.json with the configs of its modules, with a zero byte between two.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const hone::ScratchFolder& scratch = enter_scratch();
  static_cast<void>(scratch);
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 == 0) read_index(text);
  if (data[0] % 4 == 1) read_adapter(text);
  if (data[0] % 4 == 2) read_modules(text);
  return 0;
}
