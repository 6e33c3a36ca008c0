// layers: train
#include <cmath>

#include "fuzz/refusal.h"
#include "fuzz/scratch_folder.h"
#include "train/checkpoint.h"
#include "train/json_log.h"

namespace {

using namespace hone::train;

/// A state that is accepted can be gone on from, and is written as it was read.
void read_state(const std::string& text) {
  const std::string file = "trainer_state.json";
  hone::accepts(file + ": ", [&] {
    const RunState state = state_from_json(hone::parse_json(text, file), file);
    if (!(state.scaler.scale() > 0) || !std::isfinite(state.scaler.scale())) std::abort();
    const hone::Json written = to_json(state);
    if (to_json(state_from_json(written, file)) != written) std::abort();
  });
}

void read_manifest(const std::string& folder, std::string_view text) {
  hone::put_file(folder + "/checkpoint.json", text);
  hone::accepts(folder, [&] { verify_checkpoint(folder); });
  hone::accepts(folder, [&] { recorded_accumulation(folder); });
}

/// A log that goes on keeps lines alone that are there.
void read_log(const std::string& file, std::string_view text) {
  hone::put_file(file, text);
  JsonLog(file, 100).write({101, 1.0, {{"loss", 0.5}}});
  std::ifstream kept(file);
  for (std::string line; std::getline(kept, line);) {
    if (text.find(line) == text.npos && line.find("101") == line.npos) std::abort();
  }
}

}  // namespace

/// The first byte chooses the file: trainer_state.json, checkpoint.json, or the log of a run.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const hone::ScratchFolder scratch;
  static const std::string folder = scratch.copy("io/goldens/shards", "checkpoint-1");
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 == 0) read_state(text);
  if (data[0] % 4 == 1) read_manifest(folder, text);
  if (data[0] % 4 == 2) read_log(scratch.path() + "/log.jsonl", text);
  return 0;
}
