#include "infer/weight_source.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "kernels/cpu/gemm.h"
#include "nn/packed_rows.h"

namespace hone::infer {
namespace {

class PackedSource : public WeightSource {
 public:
  explicit PackedSource(std::unique_ptr<models::PackedFile> file) : file_(std::move(file)) {}

  HeldMatrix matrix(const nn::Parameter& parameter, bool huge_pages, ThreadPool& pool) override {
    return {.window = file_->map(parameter, huge_pages, pool)};
  }
  uint64_t huge_page_bytes(const nn::Parameter& parameter) const override {
    return file_->huge_page_bytes(parameter);
  }
  void vector(const nn::Parameter& parameter, void* out) override { file_->read(parameter, out); }
  void row(const nn::Parameter& parameter, int64_t row, void* table) override {
    file_->read_row(parameter, row, table);
  }
  void announce(const nn::Parameter& parameter) override { file_->will_need(parameter); }
  void announce_row(const nn::Parameter& parameter, int64_t row) override {
    file_->will_need_row(parameter, row);
  }
  void finish() override { file_->finish(); }
  size_t scratch_bytes() const override { return 0; }
  const std::string& path() const override { return file_->path(); }

 private:
  std::unique_ptr<models::PackedFile> file_;
};

class CheckpointSource : public WeightSource {
 public:
  CheckpointSource(const models::Model& model, std::unique_ptr<io::Weights> weights,
                   std::unique_ptr<models::Adapter> adapter, models::LoadReport& report)
      : parameters_(model.parameters()),
        weights_(std::move(weights)),
        adapter_(std::move(adapter)),
        sources_(models::find_sources(model, *weights_, adapter_.get())) {
    report = sources_.report;
  }

  HeldMatrix matrix(const nn::Parameter& parameter, bool, ThreadPool& pool) override {
    HeldMatrix held{.memory = Buffer(parameters_.bytes_of(parameter))};
    const Weight& weight = parameter.weight;
    const nn::PackedArray to{parameters_.isa(), weight.dtype, held.memory.data()};
    const int64_t panel = kernels::panel_rows(parameters_.isa());
    const int64_t rows = std::max<int64_t>(1, kPieceFloats / (weight.width * panel)) * panel;
    pool.run((weight.rows + rows - 1) / rows, [&](int64_t piece, int) {
      const int64_t first = piece * rows;
      const int64_t count = std::min(rows, weight.rows - first);
      std::vector<float> values(static_cast<size_t>(count * weight.width));
      source(parameter).read(first, count, values.data());
      nn::store_rows(parameter, to, values.data(), first, count);
    });
    return held;
  }
  uint64_t huge_page_bytes(const nn::Parameter& parameter) const override {
    return parameters_.bytes_of(parameter);
  }
  void vector(const nn::Parameter& parameter, void* out) override {
    source(parameter).read(0, nn::row_count(parameter), static_cast<float*>(out));
  }
  void row(const nn::Parameter& parameter, int64_t row, void* table) override {
    std::vector<float> values(static_cast<size_t>(parameter.weight.width));
    source(parameter).read(row, 1, values.data());
    nn::store_rows(parameter, {parameters_.isa(), parameter.weight.dtype, table}, values.data(),
                   row, 1);
  }
  void announce(const nn::Parameter&) override {}
  void announce_row(const nn::Parameter&, int64_t) override {}
  void finish() override {
    const std::string changed = weights_->changed();
    if (changed.empty()) return;
    fail(ErrorKind::io, "{}: was written to while it was read", changed);
  }
  size_t scratch_bytes() const override { return 4 * kPieceFloats * sizeof(float); }
  const std::string& path() const override { return weights_->path(); }

 private:
  static constexpr int64_t kPieceFloats = 1 << 17;
  const models::StackedRows& source(const nn::Parameter& parameter) const {
    return sources_.rows[static_cast<size_t>(parameter.weight.slot)];
  }

  const nn::Parameters& parameters_;
  std::unique_ptr<io::Weights> weights_;
  std::unique_ptr<models::Adapter> adapter_;
  models::WeightSources sources_;
};

}  // namespace

std::unique_ptr<WeightSource> packed_source(std::unique_ptr<models::PackedFile> file) {
  return std::make_unique<PackedSource>(std::move(file));
}

std::unique_ptr<WeightSource> checkpoint_source(const models::Model& model,
                                                std::unique_ptr<io::Weights> weights,
                                                std::unique_ptr<models::Adapter> adapter,
                                                models::LoadReport& report) {
  return std::make_unique<CheckpointSource>(model, std::move(weights), std::move(adapter), report);
}

}  // namespace hone::infer
