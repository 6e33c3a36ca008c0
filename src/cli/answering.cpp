#include "cli/answering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/json_text.h"
#include "cli/byte_size.h"
#include "cli/exit_code.h"
#include "cli/image_flags.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "data/image_list.h"
#include "data/image_processor.h"
#include "infer/line_answers.h"
#include "profile/recorder.h"

namespace hone::cli {
namespace {

void append_counts(const infer::Answer& answer, std::string& out) {
  if (answer.width > 0) {
    out += ",\"width\":";
    append_json(out, answer.width);
    out += ",\"height\":";
    append_json(out, answer.height);
    return;
  }
  out += ",\"tokens\":";
  append_json(out, answer.tokens);
  out += answer.truncated() ? ",\"truncated\":true,\"original_tokens\":" : ",\"truncated\":false";
  if (answer.truncated()) append_json(out, answer.full_tokens);
}

/// Opens images: those of a folder, one, or a list of paths.
std::unique_ptr<data::RecordStream> open_images(const std::string& input,
                                                const data::RecordOptions& reading) {
  if (input == "-") return data::open_records(input, reading);
  data::ImageList list{input, {{input, ""}}, {}};
  if (folder_exists(input)) {
    list = data::images_in(input);
  } else if (reading.format || !data::looks_like_image(input)) {
    list = data::images_listed(input, false, reading.format);
  }
  return data::image_split(std::move(list), false).open();
}

}  // namespace

void declare(Arguments& arguments, AnsweringOptions& options) {
  arguments.text("--model,--model_name_or_path", "DIR", options.model,
                 "model folder, or name in the local cache");
  arguments.text(
      "--input", "FILE", options.input,
      "texts, or images: a folder, one, or a list of\ntheir paths; - is standard input (default)");
  arguments.text("--format", "NAME", options.format,
                 "lines, jsonl, csv or tsv; default: by extension");
  arguments.text("--output", "FILE", options.output, "default: standard output");
  arguments.integer("--max_seq_length", 1, kMostTokens, options.max_length,
                    "most tokens of a text; default: the model's");
  arguments.flag("--no-truncate", options.no_truncate, "refuse longer texts instead of cutting");
  arguments.text("--memory-budget", "SIZE", options.memory_budget,
                 "most memory to use, such as 64MB: streams weights");
  arguments.flag("--skip_bad_images", options.skip_bad_images,
                 "go on behind images that cannot be read");
  declare(arguments, options.image_limits);
  arguments.flag("--no_plan", options.no_plan, kNoPlanHelp);
}

void warn_unexpected(bool quiet, const infer::Session& session) {
  const auto& names = session.load_report().unexpected;
  if (names.empty()) return;
  constexpr size_t kShown = 3;
  const auto end = names.begin() + static_cast<ptrdiff_t>(std::min(kShown, names.size()));
  warn(quiet,
       fmt::format("{}: {} weights are not used: {}{}", session.folder().path, names.size(),
                   fmt::join(names.begin(), end, ", "), names.size() > kShown ? ", ..." : ""));
}

int answer_input(const CommonOptions& common, const AnsweringOptions& options,
                 infer::SessionOptions settings, const WriteAnswer& write) {
  require_model(options.model);
  data::RecordOptions reading;
  if (!options.format.empty()) reading.format = data::parse_format(options.format);
  const bool images = models::samples_of(options.model) == data::SampleKind::image;
  const auto records =
      images ? open_images(options.input, reading) : data::open_records(options.input, reading);
  return answer_records(common, options, std::move(settings), *records, write);
}

int answer_records(const CommonOptions& common, const AnsweringOptions& options,
                   infer::SessionOptions settings, data::RecordStream& records,
                   const WriteAnswer& write) {
  Output output(options.output);
  settings.dtype = common.wanted_dtype();
  settings.device = common.device;
  settings.tuning = common.tuning;
  settings.threads = common.threads;
  settings.max_length = options.max_length;
  settings.planned = !options.no_plan;
  settings.image_limits = options.image_limits;
  if (!options.memory_budget.empty()) {
    settings.memory_budget = parse_bytes("--memory-budget", options.memory_budget);
  }
  std::optional<profile::Span> opening(std::in_place, "opening the model", profile::Stage::loading);
  infer::Session session(options.model, settings);
  opening.reset();
  const std::string noun = fmt::format("{}s", session.processor().sample_name());
  Progress progress("hone", noun, common.quiet || options.input == "-");
  infer::AnswerHandler handler;
  handler.format = [&](const data::Record& record, const infer::Answer& answer, std::string& out) {
    out += '{';
    const bool is_path = !record.text.empty() && !data::is_raw_image(record.text);
    if (session.reads_images() && is_path) {
      out += "\"file\":";
      append_json(out, record.text);
      out += ',';
    }
    write(session, answer, out);
    append_counts(answer, out);
    out += "}\n";
  };
  handler.write = [&](std::string_view text) { output.write(text); };
  handler.idle = [&] { output.flush(); };
  handler.progress = [&](const infer::LineCounts& counts) { progress.update(counts.records); };
  handler.truncate = !options.no_truncate;
  int64_t skipped = 0;
  if (options.skip_bad_images) {
    handler.skipped = [&](const std::string& problem) {
      ++skipped;
      warn(common.quiet, problem);
    };
  }
  infer::LineCounts counts;
  try {
    counts = infer::answer_lines(session, records, handler);
  } catch (const Error&) {
    output.flush();  // the answers before the mistake
    throw;
  }
  output.finish();
  warn_unexpected(common.quiet, session);
  if (skipped > 0) {
    warn(common.quiet, fmt::format("{} of {} {} cannot be read and were left out", skipped,
                                   counts.records + skipped, noun));
  }
  if (counts.truncated > 0) {
    warn(common.quiet, fmt::format("{} of {} texts were cut to {} tokens", counts.truncated,
                                   counts.records, session.max_units()));
  }
  return kDone;
}

}  // namespace hone::cli
