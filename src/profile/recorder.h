#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "plan/run_sink.h"

/// What a process does with its time, as `hone profile` shows it. Code says what it is doing with a
/// Span; where no Recorder is active that costs one load of an atomic.
namespace hone::profile {

/// Names what a thread's time is spent for. What belongs to none of the first four is "other" to
/// users, shown in parts.
enum class Stage : uint8_t {
  none,  ///< belongs to what the span around it does
  loading,
  forward,
  backward,
  evaluation,
  optimizer,
  checkpoint,
  communication,
  logging,
  writing,
  device,  ///< a host that feeds and awaits a device; Recorder::split_device() says what for
};
inline constexpr size_t kStages = 11;
std::string_view stage_name(Stage stage);

/// A piece of time on a track: a span, or an op of a plan.
struct Event {
  const char* name;      ///< a literal
  int64_t begin_ns = 0;  ///< counts since the recorder was made
  int64_t end_ns = 0;
  int64_t self_ns = 0;  ///< excludes the events inside it
  double flops = 0;
  double bytes = 0;
  int32_t scope = -1;  ///< number of the op's scope; -1: none
  uint16_t depth = 0;  ///< spans around it
  bool op = false;
  bool in_window = false;
};
static_assert(sizeof(Event) <= 56, "a million of them are kept");

/// The events of one thread, or of a device.
struct Track {
  std::string name;
  int64_t thread = 0;
  std::vector<Event> events = {};
  std::array<int64_t, kStages> stage_ns = {};
};

struct RecorderOptions {
  int64_t skipped_steps = 3;  ///< steps before the window
  int64_t window_steps = 10;  ///< steps whose ops are recorded
  size_t most_events = 1'000'000;
};

/// Collects what the threads of a process do. Stages are summed over the whole time; ops are heard
/// of inside a window of steps, so that a long run costs next to nothing.
class Recorder : public RunSink {
 public:
  explicit Recorder(const RecorderOptions& options = {});
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Begins and ends a span of the calling thread.
  void enter(const char* name, Stage stage);
  void leave();
  /// Says that the next step begins: a training step, or a forward pass of inference. Any thread
  /// may run steps.
  void begin_step();
  /// Gives what a Runner should tell of its steps now: this inside the window, else null.
  RunSink* sink() { return in_window_.load(std::memory_order_relaxed) ? this : nullptr; }
  /// Takes in a step of a plan, on the track of the calling thread, or of the plan's device.
  void on_step(const StepEvent& event) override;
  /// Shares the time that the calling thread spent on a device among what the device did with it,
  /// by the device's own seconds.
  void split_device(const std::vector<std::pair<Stage, double>>& seconds);
  /// Says how many bytes of a kind there are; the largest number counts.
  void set_memory(std::string_view kind, uint64_t bytes);
  /// Keeps a number of the run, by which `hone doctor` judges it; add_fact() adds to it.
  void set_fact(std::string_view name, double value);
  void add_fact(std::string_view name, double value);
  /// Says what the device's units can do a second, as measured.
  void set_peak_flops(double flops) { peak_flops_ = flops; }
  /// Names the calling thread; without this it is "thread N".
  void name_thread(std::string_view name);
  /// Ends the window and closes the spans that are open.
  void finish();

  /// These are read when finish() has been called and no other thread enters spans.
  double wall_seconds() const { return static_cast<double>(end_ns_) * 1e-9; }
  double window_seconds() const;
  int64_t window_steps() const { return std::max<int64_t>(0, steps_in_window_); }
  int64_t steps() const { return steps_; }
  const std::vector<std::unique_ptr<Track>>& tracks() const { return tracks_; }
  /// Gives the track of the thread that made this: its stages and the rest add up to the wall time.
  const Track& main_track() const { return *tracks_.front(); }
  const std::string& scope(int32_t number) const { return scopes_[static_cast<size_t>(number)]; }
  const std::vector<std::pair<std::string, uint64_t>>& memory() const { return memory_; }
  const std::vector<std::pair<std::string, double>>& facts() const { return facts_; }
  double peak_flops() const { return peak_flops_; }  ///< 0: not known
  /// Counts the events that were left out because there were too many.
  int64_t dropped_events() const { return dropped_; }

 private:
  struct Open {
    const char* name;
    Stage stage;
    int64_t begin_ns;
    int64_t inner_ns;  ///< time of the events inside it
  };
  struct Thread;

  int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                                begin_)
        .count();
  }
  Thread& this_thread();
  Track& add_track(std::string name, int64_t thread);
  void keep(Track& track, const Event& event);
  double& fact(std::string_view name);
  int32_t number_of_scope(const std::string& scope);

  const RecorderOptions options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const uint64_t generation_;  ///< tells threads that their track is one of an earlier recorder
  std::mutex mutex_;           ///< guards the lists and the steps; a track is its thread's alone
  std::vector<std::unique_ptr<Track>> tracks_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::string> scopes_;
  std::vector<std::pair<std::string, uint64_t>> memory_;
  std::vector<std::pair<std::string, double>> facts_;
  Track* device_ = nullptr;
  int64_t device_base_ns_ = 0;
  double device_last_ = 0;
  std::atomic<size_t> events_{0};
  std::atomic<int64_t> dropped_{0};
  std::atomic<bool> in_window_{false};
  double peak_flops_ = 0;
  int64_t steps_ = 0;
  int64_t steps_in_window_ = 0;
  int64_t window_begin_ns_ = 0;
  int64_t window_end_ns_ = 0;
  int64_t end_ns_ = 0;
};

/// Gives the recorder that listens; null: none does.
Recorder* active();

/// Makes a recorder the active one while it lives.
class Listening {
 public:
  explicit Listening(Recorder& recorder);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
};

/// Says what the calling thread does from here to the end of the block.
class Span {
 public:
  explicit Span(const char* name, Stage stage = Stage::none) : recorder_(active()) {
    if (recorder_) recorder_->enter(name, stage);
  }
  ~Span() {
    if (recorder_) recorder_->leave();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Recorder* recorder_;
};

inline void begin_step() {
  if (Recorder* recorder = active()) recorder->begin_step();
}

}  // namespace hone::profile
