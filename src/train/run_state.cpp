#include "train/run_state.h"

#include <cmath>

#include "base/error.h"

namespace hone::train {
namespace {

constexpr int64_t kMost = int64_t{1} << 53;  // whole numbers that JSON readers agree on

Json to_json(const LogEntry& entry) {
  Json json = {{"step", entry.step}, {"epoch", entry.epoch}};
  for (const auto& [name, value] : entry.values) {
    json[name] = std::isfinite(value) ? Json(value) : Json();
  }
  return json;
}

LogEntry entry_from_json(const Json& json, const std::string& file) {
  const JsonFields fields(json, file, "log_history");
  LogEntry entry;
  entry.step = fields.integer("step", 0, kMost);
  entry.epoch = fields.number("epoch");
  for (const auto& [name, value] : json.items()) {
    if (name == "step" || name == "epoch") continue;
    if (!value.is_number() && !value.is_null()) fields.fail_field(name.c_str(), "no number");
    entry.values.emplace_back(name, value.is_null() ? std::nan("") : value.get<double>());
  }
  return entry;
}

}  // namespace

Json to_json(const RunState& state) {
  Json history = Json::array();
  for (const LogEntry& entry : state.history) history.push_back(to_json(entry));
  return {{"global_step", state.step},
          {"epoch_index", state.position.epoch},
          {"epoch_samples", state.position.index},
          {"loss_since_log", state.loss_since_log},
          {"logged_step", state.logged_step},
          {"loss_in_all", state.loss_in_all},
          {"last_loss", state.last_loss},
          {"samples_seen", state.samples},
          {"num_input_tokens_seen", state.tokens},
          {"best_metric", state.best ? Json(*state.best) : Json()},
          {"best_global_step", state.best_step},
          {"evaluations_without_gain", state.evaluations_without_gain},
          {"loss_scale", state.scaler.scale()},
          {"loss_scale_good_steps", state.scaler.good_steps()},
          {"log_history", history}};
}

RunState state_from_json(const Json& json, const std::string& file) {
  const JsonFields fields(json, file);
  RunState state;
  state.step = fields.integer("global_step", 0, kMost);
  state.position = {fields.integer("epoch_index", 0, kMost),
                    fields.integer("epoch_samples", 0, kMost)};
  state.loss_since_log = fields.number("loss_since_log");
  state.logged_step = fields.integer("logged_step", 0, kMost);
  state.loss_in_all = fields.number("loss_in_all");
  state.last_loss = fields.number("last_loss");
  state.samples = fields.integer("samples_seen", 0, kMost);
  state.tokens = fields.integer("num_input_tokens_seen", 0, kMost);
  if (fields.has("best_metric")) state.best = fields.number("best_metric");
  state.best_step = fields.integer("best_global_step", 0, kMost);
  state.evaluations_without_gain = fields.integer("evaluations_without_gain", 0, kMost);
  const double scale = fields.number("loss_scale");
  if (!(scale > 0)) fields.fail_field("loss_scale", "expected a number above 0");
  state.scaler = optim::LossScaler(scale, fields.integer("loss_scale_good_steps", 0, kMost));
  const Json& history = fields.at("log_history");
  if (!history.is_array()) fields.fail_field("log_history", "expected a list");
  for (const Json& entry : history) state.history.push_back(entry_from_json(entry, file));
  return state;
}

}  // namespace hone::train
