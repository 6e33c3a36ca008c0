#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "serve/served_model.h"

namespace hone::serve {

/// The models of a server by name. Any thread may call it. It outlives all pointers that it gave
/// out: its destructor waits for them.
class ModelRegistry {
 public:
  ModelRegistry();
  ~ModelRegistry();
  ModelRegistry(const ModelRegistry&) = delete;
  ModelRegistry& operator=(const ModelRegistry&) = delete;

  /// Loads a model and gives it a name. One that has the name already serves until the new one is
  /// there, and ends when its jobs are done; where loading fails, which is thrown, it goes on.
  void load(const std::string& name, const ModelSettings& settings);
  /// Loads with the settings that the name has, but for the folder; an unknown name is an error.
  void load(const std::string& name, const std::string& folder);
  /// Takes a model's name away; it ends when its jobs are done. An unknown name is an error.
  void unload(const std::string& name);

  /// Gives the model of a name, null where there is none; an empty name is the first model's. Jobs
  /// that are submitted by the pointer are answered, whatever is loaded meanwhile.
  std::shared_ptr<ServedModel> find(std::string_view name) const;
  /// Gives the names in the order in which they were first loaded.
  std::vector<std::string> names() const;
  /// Calls `heard` with every model before it serves, so that it can set on_batch(). It is set
  /// before the first load().
  void on_load(std::function<void(const std::string& name, ServedModel& model)> heard);

 private:
  struct Named {
    std::string name;
    std::shared_ptr<ServedModel> model;
  };
  Named* find_named(std::string_view name);
  /// Makes a model that never ends in one of its own threads, nor in one that serves others.
  std::shared_ptr<ServedModel> make(const ModelSettings& settings);
  void end_models();

  std::function<void(const std::string& name, ServedModel& model)> heard_;
  std::mutex loading_;        ///< one load at a time
  mutable std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::vector<Named> models_;
  std::vector<std::unique_ptr<ServedModel>> dropped_;  ///< models that nobody holds any more
  size_t alive_ = 0;                                   ///< models that have not been destroyed
  bool ends_ = false;
  std::thread ender_;
};

}  // namespace hone::serve
