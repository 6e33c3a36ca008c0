#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/explain_tools.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "data/labels.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "explain/page.h"
#include "infer/line_answers.h"
#include "infer/self_explainer.h"
#include "infer/word_shares.h"
#include "io/folder.h"

namespace hone::cli {
namespace {

constexpr int64_t kMostSteps = 10'000;
constexpr size_t kBatch = 32;

struct ExplainOptions {
  std::string model;
  std::string input = "-";
  std::string format;
  std::string output;
  int64_t max_length = 0;
  bool no_truncate = false;
  std::string method;
  int64_t steps = 50;
  std::string html;
  infer::SelfExplainerOptions own;
  ExplainTools tools;
};

void declare(Arguments& arguments, ExplainOptions& options) {
  arguments.text("--model,--model_name_or_path", "DIR", options.model,
                 "model folder, or name in the local cache");
  arguments.text("--input", "FILE", options.input, "texts; - is standard input (default)");
  arguments.text("--format", "NAME", options.format,
                 "lines, jsonl, csv or tsv; default: by extension");
  arguments.text("--output", "FILE", options.output, "default: standard output");
  arguments.text("--method", "NAME", options.method,
                 "ig: integrated gradients, for any encoder;\ndefault: the model's own reasons");
  arguments.integer("--steps", 1, kMostSteps, options.steps, "points of ig's path; default 50");
  arguments.text("--html", "FILE", options.html,
                 "write a page too: filters by answer, and by\nerror where the input has labels");
  arguments.integer("--ablate", 0, kMostSteps, options.own.ablate,
                    "answer again without each of so many phrases");
  arguments.integer("--concepts", 0, kMostSteps, options.own.concepts,
                    "most concepts of a text; default: all found");
  arguments.integer("--phrases", 0, kMostSteps, options.own.phrases,
                    "most phrases of a text, the best first;\ndefault: all");
  arguments.integer("--max_seq_length", 1, kMostTokens, options.max_length,
                    "most tokens of a text; default: the model's");
  arguments.flag("--no-truncate", options.no_truncate, "refuse longer texts instead of cutting");
  declare(arguments, options.tools);
  arguments.example("printf 'a great film\\n' | hone explain --model DIR --method ig");
}

void check_device(const CommonOptions& common) {
  if (common.device != "auto" && select_device(common.device)) {
    fail(ErrorKind::unsupported, "device: {}: integrated gradients are computed on the CPU alone",
         quote(common.device));
  }
  if (common.dtype != DType::f32 && common.dtype != DType::bf16) {
    fail(ErrorKind::unsupported, "dtype: {}: integrated gradients are computed in fp32 or bf16",
         quote(dtype_name(common.dtype)));
  }
}

bool explains_itself(const std::string& model) {
  return models::explain_settings(*models::open_model_folder(io::resolve_model(model)).config);
}

std::unique_ptr<infer::TextExplainer> open_own(const CommonOptions& common,
                                               const ExplainOptions& options) {
  infer::SessionOptions session;
  session.dtype = common.wanted_dtype();
  session.device = common.device;
  session.threads = common.threads;
  session.max_length = options.max_length;
  return std::make_unique<infer::SelfExplainer>(options.model, session, options.own);
}

/// Opens what explains as the options say.
std::unique_ptr<infer::TextExplainer> open_explainer(const CommonOptions& common,
                                                     const ExplainOptions& options,
                                                     ThreadPool& pool) {
  if (options.method.empty()) {
    if (explains_itself(options.model)) return open_own(common, options);
    fail(ErrorKind::usage,
         "{}: has no head that explains; train one by `hone train --explain`, or give --method "
         "ig, which explains any classifier",
         options.model);
  }
  if (options.own.ablate > 0 || options.own.concepts >= 0 || options.own.phrases >= 0) {
    fail(ErrorKind::usage, "{}: is of the model's own reasons; leave --method out",
         options.own.ablate > 0      ? "--ablate"
         : options.own.concepts >= 0 ? "--concepts"
                                     : "--phrases");
  }
  if (options.method != "ig") {
    fail(ErrorKind::usage, "--method: expected ig, got {}", quote(options.method));
  }
  check_device(common);
  return std::make_unique<infer::GradientExplainer>(
      options.model, pool,
      infer::IntegratedGradientsOptions{
          .steps = options.steps, .max_length = options.max_length, .dtype = common.dtype});
}

/// Says what a record's label is in the model's words; nothing where it has none.
std::optional<explain::Gold> gold_of(const data::Record& record, const data::RecordStream& records,
                                     const data::LabelMap& map, const models::ModelConfig& config,
                                     const explain::Explanation& answer) {
  if (record.labels && config.problem == ProblemType::multi_label) {
    const std::vector<bool> flags = map.ids(record, records);
    std::vector<std::string> names;
    for (size_t i = 0; i < flags.size(); ++i) {
      if (flags[i]) names.push_back(config.labels[i]);
    }
    return explain::Gold{fmt::format("{}", fmt::join(names, ", ")), names != answer.chosen};
  }
  if (!record.label) return {};
  if (config.problem != ProblemType::single_label) return explain::Gold{*record.label, {}};
  const std::string& label = config.labels[static_cast<size_t>(map.id(record, records))];
  return explain::Gold{label, label != answer.label};
}

/// One run of the command: texts in, lines and perhaps a page out, a batch at a time.
class Explaining {
 public:
  Explaining(const CommonOptions& common, const ExplainOptions& options,
             data::RecordStream& records)
      : common_(common),
        options_(options),
        records_(records),
        pool_(common.threads > 0 ? common.threads : usable_cores()),
        explainer_(open_explainer(common, options, pool_)),
        labels_({}, config().labels),
        output_(options.output) {
    if (options.html.empty()) return;
    page_.emplace(
        options.html,
        explain::PageFacts{options.model,
                           options.method.empty()
                               ? "the model's own reasons"
                               : fmt::format("integrated gradients, {} steps", options.steps),
                           config().labels});
  }

  int run() {
    Progress progress("hone", "texts", common_.quiet || options_.input == "-");
    infer::BatchReader reader(records_, kBatch);
    for (auto batch = reader.next(); !batch.empty(); batch = reader.next()) {
      answer(batch);
      if (reader.idle()) output_.flush();
      progress.update(count_);
    }
    output_.finish();
    if (page_) page_->finish();
    warn_at_end();
    return kDone;
  }

 private:
  const models::ModelConfig& config() const { return explainer_->config(); }

  void answer(std::span<const data::Record> batch) {
    texts_.clear();
    for (const data::Record& record : batch) {
      if (record.pair) {
        fail(ErrorKind::bad_file, "{}: a pair of texts; explain reads one", records_.where(record));
      }
      texts_.push_back(record.text);
    }
    const std::vector<explain::Explanation> found = explainer_->explain(texts_);
    lines_.clear();
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].truncated && options_.no_truncate) {
        fail(ErrorKind::usage, "{}: {} tokens are more than the limit of {}",
             records_.where(batch[i]), found[i].original_tokens, explainer_->max_tokens());
      }
      truncated_ += found[i].truncated ? 1 : 0;
      explain::append_json(found[i], lines_);
      lines_ += '\n';
      if (page_) page_->add(found[i], gold_of(batch[i], records_, labels_, config(), found[i]));
    }
    output_.write(lines_);
    count_ += std::ssize(batch);
  }

  void warn_at_end() const {
    if (truncated_ > 0) {
      warn(common_.quiet, fmt::format("{} of {} texts were cut to {} tokens", truncated_, count_,
                                      explainer_->max_tokens()));
    }
    const auto* gradients = dynamic_cast<const infer::GradientExplainer*>(explainer_.get());
    if (const int64_t inexact = gradients ? gradients->inexact() : 0; inexact > 0) {
      warn(common_.quiet,
           fmt::format("the shares of {} of {} texts do not sum to what they explain within 5%: "
                       "more --steps are more exact",
                       inexact, count_));
    }
  }

  const CommonOptions& common_;
  const ExplainOptions& options_;
  data::RecordStream& records_;
  ThreadPool pool_;
  std::unique_ptr<infer::TextExplainer> explainer_;
  data::LabelMap labels_;
  Output output_;
  std::optional<explain::Page> page_;
  std::vector<std::string_view> texts_;
  std::string lines_;
  int64_t count_ = 0;
  int64_t truncated_ = 0;
};

}  // namespace

int explain(const Words& words) {
  Arguments arguments("explain",
                      "Says why texts get their labels: one JSON object a line, in order.");
  ExplainOptions options;
  declare(arguments, options);
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  require_model(options.model);
  if (options.tools.any()) {
    return run_tools(arguments.common(), options.model, options.max_length, options.tools);
  }
  data::RecordOptions reading;
  if (!options.format.empty()) reading.format = data::parse_format(options.format);
  const auto records = data::open_records(options.input, reading);
  return Explaining(arguments.common(), options, *records).run();
}

}  // namespace hone::cli
