#include "models/convert.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "io/folder.h"

namespace hone::cli {
namespace {

/// "5GB", "200MB", "1GiB", "4096": as transformers reads them.
uint64_t parse_bytes(const std::string& given) {
  struct Unit {
    const char* name;
    double bytes;
  };
  constexpr std::array<Unit, 8> kUnits = {{{"", 1},
                                           {"KB", 1e3},
                                           {"MB", 1e6},
                                           {"GB", 1e9},
                                           {"TB", 1e12},
                                           {"KiB", 0x1p10},
                                           {"MiB", 0x1p20},
                                           {"GiB", 0x1p30}}};
  const char* end = given.data() + given.size();
  double number = 0;
  const auto [stop, error] = std::from_chars(given.data(), end, number);
  for (const Unit& unit : kUnits) {
    const double bytes = number * unit.bytes;
    if (error == std::errc() && std::string_view(stop, end) == unit.name && bytes >= 1 &&
        bytes < 0x1p62) {
      return static_cast<uint64_t>(bytes);
    }
  }
  fail(ErrorKind::usage, "--max-shard-size: expected a size such as 5GB or 200MB, got {}",
       quote(given));
}

}  // namespace

int convert(const Words& words) {
  Arguments arguments("convert",
                      "Writes a model folder with safetensors weights in another dtype.");
  std::string model;
  std::string output;
  std::string shard = "5GB";
  std::string format = "safetensors";
  arguments.text("--model,--model_name_or_path", "DIR", model,
                 "model folder, or name in the local cache");
  arguments.text("--output", "DIR", output, "new folder; appears complete or not at all");
  arguments.text("--max-shard-size", "SIZE", shard, "most bytes of a file; default 5GB");
  arguments.text("--format", "NAME", format, "safetensors (default)");
  arguments.allow_fp16();
  arguments.example("hone convert --model DIR --output DIR-bf16 --dtype bf16");
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  require_model(model);
  if (output.empty()) fail(ErrorKind::usage, "--output: missing; the folder to write");
  if (format != "safetensors") {
    fail(ErrorKind::unsupported, "--format: expected safetensors, got {}", quote(format));
  }
  models::ConvertOptions options;
  options.dtype = arguments.common().dtype;
  options.max_shard_bytes = parse_bytes(shard);
  const models::Converted done = models::convert_folder(io::resolve_model(model), output, options);
  if (arguments.common().json) {
    print(fmt::format("{{\"tensors\":{},\"bytes\":{},\"dtype\":\"{}\"}}\n", done.tensors,
                      done.bytes, dtype_name(options.dtype)));
  } else if (!arguments.common().quiet) {
    print(fmt::format("{}: {} tensors, {:.1f} MB as {}\n", output, done.tensors,
                      static_cast<double>(done.bytes) / 1e6, dtype_name(options.dtype)));
  }
  return kDone;
}

}  // namespace hone::cli
