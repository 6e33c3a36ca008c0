#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "infer/weight_source.h"

namespace hone::infer {

/// Tells of every matrix before it is read from another source.
class WatchedSource : public WeightSource {
 public:
  using Watch = std::function<void(const nn::Parameter& parameter)>;

  WatchedSource(std::unique_ptr<WeightSource> inner, Watch watch)
      : inner_(std::move(inner)), watch_(std::move(watch)) {}

  HeldMatrix matrix(const nn::Parameter& parameter, bool huge_pages, ThreadPool& pool) override {
    watch_(parameter);
    return inner_->matrix(parameter, huge_pages, pool);
  }
  uint64_t huge_page_bytes(const nn::Parameter& parameter) const override {
    return inner_->huge_page_bytes(parameter);
  }
  void vector(const nn::Parameter& parameter, void* out) override {
    inner_->vector(parameter, out);
  }
  void row(const nn::Parameter& parameter, int64_t row, void* table) override {
    inner_->row(parameter, row, table);
  }
  void announce(const nn::Parameter& parameter) override { inner_->announce(parameter); }
  void announce_row(const nn::Parameter& parameter, int64_t row) override {
    inner_->announce_row(parameter, row);
  }
  void finish() override { inner_->finish(); }
  size_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  const std::string& path() const override { return inner_->path(); }

 private:
  std::unique_ptr<WeightSource> inner_;
  Watch watch_;
};

}  // namespace hone::infer
