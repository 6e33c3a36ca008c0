#include "profile/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace hone::profile {
namespace {

std::atomic<Recorder*> active_recorder{nullptr};
std::atomic<uint64_t> generations{0};

uint16_t depth_of(size_t open) { return static_cast<uint16_t>(std::min<size_t>(open, UINT16_MAX)); }

int64_t thread_number() { return static_cast<int64_t>(::syscall(SYS_gettid)); }

}  // namespace

std::string_view stage_name(Stage stage) {
  static constexpr std::array<std::string_view, kStages> kNames = {
      "none",       "loading",       "forward", "backward", "evaluation", "optimizer",
      "checkpoint", "communication", "logging", "writing",  "device"};
  return kNames[static_cast<size_t>(stage)];
}

/// What a thread has open.
struct Recorder::Thread {
  Track& track;
  std::vector<Open> open = {};
};

Recorder::Recorder(const RecorderOptions& options) : options_(options), generation_(++generations) {
  this_thread().track.name = "main";
}

Recorder::~Recorder() = default;

Recorder::Thread& Recorder::this_thread() {
  thread_local Thread* mine = nullptr;
  thread_local uint64_t generation = 0;
  if (generation == generation_) return *mine;
  const int64_t number = thread_number();
  Track& track = add_track("thread " + std::to_string(number), number);
  const std::lock_guard lock(mutex_);
  threads_.push_back(std::make_unique<Thread>(Thread{track}));
  mine = threads_.back().get();
  generation = generation_;
  return *mine;
}

Track& Recorder::add_track(std::string name, int64_t thread) {
  const std::lock_guard lock(mutex_);
  tracks_.push_back(std::make_unique<Track>(Track{std::move(name), thread}));
  return *tracks_.back();
}

void Recorder::name_thread(std::string_view name) { this_thread().track.name = name; }

void Recorder::keep(Track& track, const Event& event) {
  if (events_.fetch_add(1, std::memory_order_relaxed) < options_.most_events) {
    track.events.push_back(event);
  } else {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Recorder::enter(const char* name, Stage stage) {
  Thread& thread = this_thread();
  if (stage == Stage::none && !thread.open.empty()) stage = thread.open.back().stage;
  thread.open.push_back({name, stage, now(), 0});
}

void Recorder::leave() {
  Thread& thread = this_thread();
  const int64_t end = now();
  const Open span = thread.open.back();
  thread.open.pop_back();
  const int64_t self = end - span.begin_ns - span.inner_ns;
  thread.track.stage_ns[static_cast<size_t>(span.stage)] += self;
  if (!thread.open.empty()) thread.open.back().inner_ns += end - span.begin_ns;
  keep(thread.track, {.name = span.name,
                      .begin_ns = span.begin_ns,
                      .end_ns = end,
                      .self_ns = self,
                      .depth = depth_of(thread.open.size()),
                      .in_window = in_window_.load(std::memory_order_relaxed)});
}

void Recorder::begin_step() {
  const std::lock_guard lock(mutex_);
  const int64_t begun = ++steps_ - options_.skipped_steps;
  if (begun == 1 && options_.window_steps > 0) {
    window_begin_ns_ = now();
    in_window_ = true;
  } else if (begun == options_.window_steps + 1) {
    window_end_ns_ = now();
    in_window_ = false;
  }
  if (in_window_) ++steps_in_window_;
}

void Recorder::on_step(const StepEvent& event) {
  Thread& thread = this_thread();
  const int64_t end = now();
  const auto length = static_cast<int64_t>(event.seconds * 1e9);
  Event kept{.name = event.step.name,
             .begin_ns = end - length,
             .end_ns = end,
             .self_ns = length,
             .bytes = event.plan.bytes_moved(event.step, event.extents),
             .scope = number_of_scope(event.step.scope),
             .op = true,
             .in_window = true};
  if (event.step.flops) kept.flops = event.step.flops(event.extents);
  if (!event.plan.gpu()) {
    // The time goes from the span to the op, whose stage is the span's.
    kept.depth = depth_of(thread.open.size());
    const Stage stage = thread.open.empty() ? Stage::none : thread.open.back().stage;
    thread.track.stage_ns[static_cast<size_t>(stage)] += length;
    if (!thread.open.empty()) thread.open.back().inner_ns += length;
    return keep(thread.track, kept);
  }
  // A device's clock begins with each run, which the host started inside the span that is open.
  if (!device_) device_ = &add_track("device", 0);
  if (event.begin < device_last_ || device_->events.empty()) {
    const int64_t opened = thread.open.empty() ? end : thread.open.back().begin_ns;
    device_base_ns_ =
        device_->events.empty() ? opened : std::max(opened, device_->events.back().end_ns);
  }
  device_last_ = event.begin;
  kept.begin_ns = device_base_ns_ + static_cast<int64_t>(event.begin * 1e9);
  kept.end_ns = kept.begin_ns + length;
  keep(*device_, kept);
}

int32_t Recorder::number_of_scope(const std::string& scope) {
  if (scope.empty()) return -1;
  const std::lock_guard lock(mutex_);
  const auto number = std::find(scopes_.begin(), scopes_.end(), scope) - scopes_.begin();
  if (number == std::ssize(scopes_)) scopes_.push_back(scope);
  return static_cast<int32_t>(number);
}

void Recorder::split_device(const std::vector<std::pair<Stage, double>>& seconds) {
  auto& stages = this_thread().track.stage_ns;
  double all = 0;
  for (const auto& part : seconds) all += part.second;
  int64_t& shared = stages[static_cast<size_t>(Stage::device)];
  if (all <= 0 || shared <= 0) return;
  const auto whole = static_cast<double>(shared);
  for (const auto& [stage, share] : seconds) {
    const auto part = static_cast<int64_t>(whole * (share / all));
    stages[static_cast<size_t>(stage)] += part;
    shared -= part;
  }
}

void Recorder::set_memory(std::string_view kind, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, most] : memory_) {
    if (name != kind) continue;
    most = std::max(most, bytes);
    return;
  }
  memory_.emplace_back(kind, bytes);
}

double& Recorder::fact(std::string_view name) {
  for (auto& [known, value] : facts_) {
    if (known == name) return value;
  }
  return facts_.emplace_back(name, 0).second;
}

void Recorder::set_fact(std::string_view name, double value) {
  const std::lock_guard lock(mutex_);
  fact(name) = value;
}

void Recorder::add_fact(std::string_view name, double value) {
  const std::lock_guard lock(mutex_);
  fact(name) += value;
}

void Recorder::finish() {
  Thread& thread = this_thread();
  while (!thread.open.empty()) leave();
  const std::lock_guard lock(mutex_);
  end_ns_ = now();
  if (in_window_) window_end_ns_ = end_ns_;
  in_window_ = false;
}

double Recorder::window_seconds() const {
  return static_cast<double>(window_end_ns_ - window_begin_ns_) * 1e-9;
}

Recorder* active() { return active_recorder.load(std::memory_order_acquire); }

Listening::Listening(Recorder& recorder) { active_recorder = &recorder; }

Listening::~Listening() { active_recorder = nullptr; }

}  // namespace hone::profile
