#include "cli/answering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/json_text.h"
#include "cli/byte_size.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "infer/line_answers.h"
#include "profile/recorder.h"

namespace hone::cli {
namespace {

constexpr int64_t kLongest = 1 << 20;

void append_counts(const infer::Answer& answer, std::string& out) {
  out += ",\"tokens\":";
  append_json(out, answer.tokens);
  out += answer.truncated() ? ",\"truncated\":true,\"original_tokens\":" : ",\"truncated\":false";
  if (answer.truncated()) append_json(out, answer.full_tokens);
}

}  // namespace

void declare(Arguments& arguments, AnsweringOptions& options) {
  arguments.text("--model,--model_name_or_path", "DIR", options.model,
                 "model folder, or name in the local cache");
  arguments.text("--input", "FILE", options.input, "texts; - is standard input (default)");
  arguments.text("--format", "NAME", options.format,
                 "lines, jsonl, csv or tsv; default: by extension");
  arguments.text("--output", "FILE", options.output, "default: standard output");
  arguments.integer("--max_seq_length", 1, kLongest, options.max_length,
                    "most tokens of a text; default: the model's");
  arguments.flag("--no-truncate", options.no_truncate, "refuse longer texts instead of cutting");
  arguments.text("--memory-budget", "SIZE", options.memory_budget,
                 "most memory to use, such as 64MB: streams weights");
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
  const auto records = data::open_records(options.input, reading);
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
  if (!options.memory_budget.empty()) {
    settings.memory_budget = parse_bytes("--memory-budget", options.memory_budget);
  }
  std::optional<profile::Span> opening(std::in_place, "opening the model", profile::Stage::loading);
  infer::Session session(options.model, settings);
  opening.reset();
  Progress progress("hone", "texts", common.quiet || options.input == "-");
  infer::AnswerHandler handler;
  handler.format = [&](const infer::Answer& answer, std::string& out) {
    out += '{';
    write(session, answer, out);
    append_counts(answer, out);
    out += "}\n";
  };
  handler.write = [&](std::string_view text) { output.write(text); };
  handler.idle = [&] { output.flush(); };
  handler.progress = [&](const infer::LineCounts& counts) { progress.update(counts.records); };
  handler.truncate = !options.no_truncate;
  infer::LineCounts counts;
  try {
    counts = infer::answer_lines(session, records, handler);
  } catch (const Error&) {
    output.flush();  // the answers before the mistake
    throw;
  }
  output.finish();
  warn_unexpected(common.quiet, session);
  if (counts.truncated > 0) {
    warn(common.quiet, fmt::format("{} of {} texts were cut to {} tokens", counts.truncated,
                                   counts.records, session.max_units()));
  }
  return kDone;
}

}  // namespace hone::cli
