#include "serve/model_registry.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/low_priority.h"

namespace hone::serve {

ModelRegistry::ModelRegistry() : ender_([this] { end_models(); }) {}

ModelRegistry::~ModelRegistry() {
  std::vector<Named> models;
  {
    const std::lock_guard lock(mutex_);
    models.swap(models_);
    ends_ = true;
  }
  models.clear();
  changed_.notify_one();
  ender_.join();
}

std::shared_ptr<ServedModel> ModelRegistry::make(const ModelSettings& settings) {
  auto made = std::make_unique<ServedModel>(settings);
  const auto drop = [this](ServedModel* model) {
    const std::lock_guard lock(mutex_);
    dropped_.emplace_back(model);
    changed_.notify_one();
  };
  {
    const std::lock_guard lock(mutex_);
    dropped_.reserve(++alive_);  // so that dropping one cannot fail
  }
  return {made.release(), drop};
}

void ModelRegistry::end_models() {
  lower_priority();  // models that end give much memory back beside others that answer
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !dropped_.empty() || (ends_ && alive_ == 0); });
    if (dropped_.empty()) return;
    std::unique_ptr<ServedModel> model = std::move(dropped_.back());
    dropped_.pop_back();
    lock.unlock();
    // It answers what it has accepted, which may take a while.
    model.reset();
    lock.lock();
    --alive_;
  }
}

ModelRegistry::Named* ModelRegistry::find_named(std::string_view name) {
  const auto at = std::ranges::find(models_, name, &Named::name);
  return at == models_.end() ? nullptr : &*at;
}

void ModelRegistry::load(const std::string& name, const ModelSettings& settings) {
  const std::lock_guard loading(loading_);
  ModelSettings chosen = settings;
  chosen.session.loads_aside = find(name) != nullptr && !name.empty();
  std::shared_ptr<ServedModel> model = make(chosen);
  if (heard_) heard_(name, *model);
  const std::lock_guard lock(mutex_);
  if (Named* named = find_named(name)) {
    // The old model goes out of `model`, when the lock is no longer held.
    named->model.swap(model);
  } else {
    models_.push_back({name, std::move(model)});
  }
}

void ModelRegistry::load(const std::string& name, const std::string& folder) {
  const std::shared_ptr<ServedModel> old = find(name);
  if (!old || name.empty()) fail(ErrorKind::usage, "model: there is none named {}", quote(name));
  ModelSettings settings = old->settings();
  settings.folder = folder;
  load(name, settings);
}

void ModelRegistry::unload(const std::string& name) {
  const std::lock_guard loading(loading_);
  std::shared_ptr<ServedModel> model;  // goes when the lock is no longer held
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(models_, name, &Named::name);
  if (at == models_.end()) fail(ErrorKind::usage, "model: there is none named {}", quote(name));
  model = std::move(at->model);
  models_.erase(at);
}

std::shared_ptr<ServedModel> ModelRegistry::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (const Named& named : models_) {
    if (name.empty() || named.name == name) return named.model;
  }
  return nullptr;
}

std::vector<std::string> ModelRegistry::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Named& named : models_) names.push_back(named.name);
  return names;
}

void ModelRegistry::on_load(
    std::function<void(const std::string& name, ServedModel& model)> heard) {
  heard_ = std::move(heard);
}

}  // namespace hone::serve
