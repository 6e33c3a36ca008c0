#include "infer/session.h"

#include "base/error.h"
#include "base/file.h"
#include "base/low_priority.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "device/memory.h"
#include "infer/memory_budget.h"
#include "io/folder.h"
#include "models/concept_encoder.h"
#include "models/parser.h"
#include "models/stored_weights.h"
#include "plan/backend.h"

namespace hone::infer {
namespace {

int threads_of(const SessionOptions& options) {
  return options.threads > 0 ? options.threads : usable_cores();
}

models::OutputOptions output_of(const SessionOptions& options, const models::ModelFolder& folder) {
  const models::SentencePooling said = folder.sentence.value_or(models::SentencePooling{});
  return {.output = options.output,
          .pooling = options.pooling.value_or(said.pooling),
          .normalize = options.normalize.value_or(said.normalize)};
}

}  // namespace

Session::Session(const std::string& model, const SessionOptions& options)
    : options_(options),
      pool_(threads_of(options)),
      folder_(models::open_model_folder(io::resolve_model(model))),
      pass_units_(Backend::of(DeviceKind::cpu).efficient_rows()) {
  const models::Family& family = models::family_of(*folder_.config);
  if (options.memory_budget > 0 && family.samples == data::SampleKind::image) {
    fail(ErrorKind::unsupported, "memory_budget: models of images are not streamed");
  }
  if (options.kept) folder_.config->quantization.kept = *options.kept;
  gpu_ = wants_gpu();
  const std::unique_lock held = hold_gpu();
  const bool streams = options.memory_budget > 0;
  if (options.loads_aside && !gpu_ && !streams) {
    open_aside();
    return;
  }
  if (streams) open_weights(pool_);  // they come while the processor is made
  open_processor();
  if (!streams) open_weights(pool_);
  open_passes();
}

void Session::open_aside() {
  run_at_low_priority([this] {
    ThreadPool alone(1);
    open_processor();
    open_weights(alone);
    open_passes();
  });
}

void Session::open_processor() {
  processor_ = models::family_of(*folder_.config)
                   .open_processor(*folder_.config, {.path = folder_.path,
                                                     .model = folder_.path,
                                                     .max_units = options_.max_length,
                                                     .sentence_length = folder_.sentence_length,
                                                     .image_limits = options_.image_limits});
  pass_units_ = processor_->pass_units(Backend::of(DeviceKind::cpu).efficient_rows());
}

void Session::open_passes() {
  open_exits();
  if (streamed_) {
    fit_to_budget();
  } else {
    open_runner();
  }
}

void Session::reopen() {
  const std::unique_lock held = hold_gpu();
  runner_.reset();
  token_runner_.reset();
  tokens_ = {};
  layerwise_.reset();
  exits_.reset();
  streamed_.reset();
  forward_ = {};
  model_.reset();
  report_ = {};
  pass_units_ = processor_->pass_units(Backend::of(DeviceKind::cpu).efficient_rows());
  open_weights(pool_);
  open_passes();
}

bool Session::wants_gpu() const {
  if (options_.device == "cpu") return false;
  const DType dtype =
      options_.dtype.value_or(folder_.config->quantization.stored ? DType::i8 : DType::f32);
  const char* own = options_.memory_budget > 0 ? "weights under `memory_budget`"
                    : dtype == DType::i8       ? "int8 weights"
                    : file_exists(folder_.path + "/" + models::kPackedName)
                        ? "weights packed for streaming"
                        : nullptr;
  if (!own) return select_device(options_.device);
  if (options_.device != "auto" && select_device(options_.device)) {
    fail(ErrorKind::unsupported, "device: {}: {} run on the CPU alone", quote(options_.device),
         own);
  }
  return false;
}

void Session::open_weights(ThreadPool& pool) {
  if (gpu_) tuning_.emplace(options_.tuning);
  const bool head = options_.output == models::Output::logits;
  models::StoredWeights stored = models::open_stored(folder_);
  const DType dtype = stored.dtype(*folder_.config, options_.dtype);
  if (dtype == DType::f16 && !gpu_) {
    fail(ErrorKind::unsupported, "dtype: 'fp16' is not there on the CPU; use fp32, bf16 or int8");
  }
  model_ = models::make_model(*folder_.config,
                              {dtype, Target::of(gpu_), head, {}, true, processor_.get()});
  if (head && models::is_parser(*folder_.config)) {
    fail(ErrorKind::unsupported,
         "{}: is a parser and has no labels; `hone predict` and `hone eval` take it", folder_.path);
  }
  if (head && !stored.has_head(model_->family())) {
    fail(ErrorKind::bad_file,
         "{}: has no classification head ({}.weight); it can embed, not predict", stored.path(),
         model_->family().head_out);
  }
  auto* const explainer = head ? dynamic_cast<models::Explainer*>(model_.get()) : nullptr;
  if (explainer && options_.memory_budget > 0) {
    fail(ErrorKind::unsupported, "memory_budget: a self-explaining model is not streamed");
  }
  if (stored.packed) stored.packed->check(*model_);
  forward_ = model_->record(output_of(options_, folder_));
  if (options_.memory_budget > 0) {
    give_freed_memory_back();
    auto source = stored.packed ? packed_source(std::move(stored.packed))
                                : checkpoint_source(*model_, std::move(stored.checkpoint),
                                                    std::move(stored.adapter), report_);
    streamed_ = std::make_unique<StreamedWeights>(*model_, forward_, std::move(source), pool_);
    return;
  }
  if (stored.packed) {
    models::load_packed(*model_, *stored.packed, pool);
  } else {
    report_ =
        models::load_weights(*model_, *stored.checkpoint, pool, {.adapter = stored.adapter.get()});
  }
  if (explainer && options_.concepts) {
    explainer->set_concepts(models::open_concepts(folder_.trained(), *explainer, pool));
  }
}

/// Opens the runner; called behind open_exits(), because exits on a GPU read all that a whole pass
/// does, and more.
void Session::open_runner() {
  runner_ = std::make_unique<Runner>(forward_.plan, model_->weights_for(forward_.shadows), pool_,
                                     Runner::Options{.planned = options_.planned});
  if (!gpu_) return;
  model_->parameters().refresh(pool_);
  pass_units_ = processor_->pass_units(Backend::of(DeviceKind::cuda).efficient_rows());
}

void Session::open_exits() {
  models::ExitSettings settings = folder_.config->exits;
  const bool has = settings.method != models::ExitMethod::none && model_->has_head();
  if (!has && options_.exits &&
      (options_.patience || options_.entropy || options_.confidence || options_.deadline > 0)) {
    fail(ErrorKind::usage,
         "{}: has no early exits; `patience`, `entropy`, `confidence` and `deadline` need them",
         folder_.path);
  }
  if (!has || !options_.exits) return;
  if (options_.patience) settings.patience = *options_.patience;
  if (options_.entropy) settings.entropy = *options_.entropy;
  if (options_.confidence) settings.confidence = *options_.confidence;
  deadline_ = options_.deadline;
  exits_ = streamed_
               ? std::make_unique<ExitPass>(*model_, settings, *streamed_, pool_, options_.planned)
               : std::make_unique<ExitPass>(*model_, settings, pool_, options_.planned);
}

void Session::fit_to_budget() {
  if (!exits_) {
    layerwise_ = std::make_unique<LayerwiseForward>(*model_, output_of(options_, folder_),
                                                    *streamed_, pool_, options_.planned);
  }
  pass_units_ = fit_budget(*streamed_, layerwise(), *processor_, options_.memory_budget,
                           processor_->max_units(), pass_units_);
}

void Session::set_sink(RunSink* sink) {
  if (runner_) runner_->set_sink(sink);
  if (exits_ || layerwise_) layerwise().set_sink(sink);
}

}  // namespace hone::infer
