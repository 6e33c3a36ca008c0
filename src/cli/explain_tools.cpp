#include "cli/explain_tools.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/json_text.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "explain/concept_writer.h"
#include "infer/concept_tools.h"
#include "io/folder.h"
#include "models/explainer.h"
#include "models/folder.h"

namespace hone::cli {
namespace {

infer::LabelledRows rows_of(const ExplainTools& tools, bool need_label) {
  if (tools.train_file.empty()) {
    fail(ErrorKind::usage, "--train_file: missing; {} reads the training rows",
         tools.noise ? "--noise" : "--build-store");
  }
  data::RecordOptions reading;
  reading.need_label = need_label;
  return {[file = tools.train_file, reading] { return data::open_records(file, reading); }};
}

std::string json_of(const infer::SuspectRow& row, const std::vector<std::string>& labels) {
  std::string out = fmt::format("{{\"row\":{},\"disagreement\":", row.row);
  append_json(out, row.disagreement);
  out += ",\"label\":";
  append_json(out, std::string_view(labels[static_cast<size_t>(row.label)]));
  out += ",\"suggested\":";
  append_json(out, std::string_view(labels[static_cast<size_t>(row.suggested)]));
  out += ",\"text\":";
  append_json(out, std::string_view(row.text));
  return out + "}\n";
}

}  // namespace

void declare(Arguments& arguments, ExplainTools& tools) {
  arguments.flag("--build-store", tools.build_store, "make the model's concepts anew");
  arguments.flag("--noise", tools.noise, "list rows whose neighbours have other labels");
  arguments.text("--export-vectors", "FILE", tools.export_vectors,
                 "write the concepts' vectors as .npy");
  arguments.text("--train_file", "FILE", tools.train_file, "of --build-store and --noise");
  arguments.lists("--trees", "FILE", tools.trees,
                  "of --build-store; default: the model's own trees");
  arguments.text("--concept_dtype", "TYPE", tools.store_dtype,
                 "of --build-store: fp32 (default), bf16 or int8");
  arguments.integer("--noise_neighbours", 1, 1 << 16, tools.neighbours, "of --noise; default 10");
}

int run_tools(const CommonOptions& common, const std::string& model, int64_t max_length,
              const ExplainTools& tools) {
  const auto config = models::open_model_folder(io::resolve_model(model)).config;
  if (!models::explain_settings(*config)) {
    fail(ErrorKind::usage, "{}: has no head that explains; train one by `hone train --explain`",
         model);
  }
  infer::SessionOptions session;
  session.device = common.device;
  session.threads = common.threads;
  session.max_length = max_length;
  if (tools.build_store) {
    const infer::BuiltStore built =
        infer::build_store(model, rows_of(tools, false), tools.trees, session,
                           explain::parse_store_dtype(tools.store_dtype));
    if (!common.quiet) {
      print(fmt::format("{} concepts of {} rows, of which {} were parsed by the model\n",
                        built.concepts, built.rows, built.parsed));
    }
  }
  if (!tools.export_vectors.empty()) {
    const int64_t count = infer::export_vectors(model, tools.export_vectors);
    if (!common.quiet) print(fmt::format("{}: {} vectors\n", tools.export_vectors, count));
  }
  if (tools.noise) {
    for (const infer::SuspectRow& row :
         infer::find_suspects(model, rows_of(tools, true), tools.neighbours, session)) {
      print(json_of(row, config->labels));
    }
  }
  return kDone;
}

}  // namespace hone::cli
