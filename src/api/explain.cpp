#include "hone/explain.h"

#include <mutex>

#include "base/error.h"
#include "base/thread_pool.h"
#include "device/cpu_info.h"
#include "infer/self_explainer.h"
#include "infer/word_shares.h"
#include "io/folder.h"
#include "models/explainer.h"
#include "models/folder.h"

namespace hone {
namespace {

constexpr int64_t kMostSteps = 10'000;

DType dtype_of(const ExplainerOptions& options) {
  if (options.dtype == "fp32") return DType::f32;
  if (options.dtype == "bf16") return DType::bf16;
  fail(ErrorKind::usage, "dtype: expected fp32 or bf16, got {}", quote(options.dtype));
}

int64_t at_least(const char* field, int64_t value, int64_t least) {
  if (value >= least) return value;
  fail(ErrorKind::usage, "{}: expected a number of at least {}, got {}", field, least, value);
}

void check(const ExplainOptions& options) {
  if (at_least("steps", options.steps, 1) > kMostSteps) {
    fail(ErrorKind::usage, "steps: expected at most {}, got {}", kMostSteps, options.steps);
  }
  at_least("ablate", options.ablate, 0);
  at_least("concepts", options.concepts, -1);
}

Explanation explanation_of(explain::Explanation found) {
  Explanation out;
  out.answer.label = std::move(found.label);
  out.answer.score = static_cast<float>(found.score);
  for (const auto& [label, score] : found.scores) {
    out.answer.scores.push_back(static_cast<float>(score));
  }
  out.answer.chosen = std::move(found.chosen);
  out.answer.tokens = found.tokens;
  out.answer.truncated = found.truncated;
  for (explain::Phrase& each : found.phrases) {
    out.phrases.push_back(
        {std::move(each.text), each.start, each.end, each.share, each.ablated_score, each.flips});
  }
  for (explain::Concept& each : found.concepts) {
    out.concepts.push_back(
        {std::move(each.text), each.share, each.similarity, std::move(each.labels), each.row});
  }
  if (found.shares) {
    out.shares = {found.shares->label, found.shares->local, found.shares->global};
  }
  out.tree = std::move(found.tree);
  out.cut = std::move(found.cut);
  return out;
}

}  // namespace

struct [[gnu::visibility("hidden")]] Explainer::State {
  State(const std::string& model, const ExplainerOptions& options)
      : folder(io::resolve_model(model)),
        explains_itself(models::explain_settings(*models::open_model_folder(folder).config)) {
    session.dtype = dtype_of(options);
    session.threads = static_cast<int>(at_least("threads", options.threads, 0));
    session.max_length = at_least("max_length", options.max_length, 0);
    labels = opened({}).config().labels;
  }

  /// Gives what explains so, which is opened where this is its first use.
  infer::TextExplainer& opened(const ExplainOptions& how) {
    const bool itself =
        how.reasons == Reasons::own || (how.reasons == Reasons::automatic && explains_itself);
    return itself ? opened_own(how) : opened_gradients(how);
  }

  infer::TextExplainer& opened_own(const ExplainOptions& how) {
    if (!explains_itself) {
      fail(ErrorKind::usage, "reasons: {} was not trained to explain itself; take gradients",
           folder);
    }
    const infer::SelfExplainerOptions told = {.ablate = how.ablate, .concepts = how.concepts};
    if (!own) own = std::make_unique<infer::SelfExplainer>(folder, session, told);
    own->set_options(told);
    return *own;
  }

  infer::TextExplainer& opened_gradients(const ExplainOptions& how) {
    if (how.ablate > 0 || how.concepts >= 0) {
      fail(ErrorKind::usage, "{}: is of a model's own reasons, not of gradients",
           how.ablate > 0 ? "ablate" : "concepts");
    }
    if (!pool) pool.emplace(session.threads > 0 ? session.threads : usable_cores());
    if (!gradients) {
      gradients = std::make_unique<infer::GradientExplainer>(
          folder, *pool,
          infer::IntegratedGradientsOptions{.max_length = session.max_length,
                                            .dtype = *session.dtype});
    }
    gradients->set_steps(how.steps);
    return *gradients;
  }

  const std::string folder;
  const bool explains_itself;
  infer::SessionOptions session;
  std::vector<std::string> labels;
  std::mutex mutex;  ///< guards the members below
  std::optional<ThreadPool> pool;
  std::unique_ptr<infer::SelfExplainer> own;
  std::unique_ptr<infer::GradientExplainer> gradients;
};

Explainer::Explainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Explainer::Explainer(Explainer&&) noexcept = default;
Explainer& Explainer::operator=(Explainer&&) noexcept = default;
Explainer::~Explainer() = default;

Explainer Explainer::load(const std::string& model, const ExplainerOptions& options) {
  return Explainer(std::make_unique<State>(model, options));
}

std::vector<Explanation> Explainer::explain(const std::vector<std::string>& texts,
                                            const ExplainOptions& options) const {
  check(options);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<Explanation> explanations;
  const std::lock_guard lock(state_->mutex);
  for (explain::Explanation& each : state_->opened(options).explain(views)) {
    explanations.push_back(explanation_of(std::move(each)));
  }
  return explanations;
}

const std::vector<std::string>& Explainer::labels() const { return state_->labels; }

bool Explainer::explains_itself() const { return state_->explains_itself; }

}  // namespace hone
