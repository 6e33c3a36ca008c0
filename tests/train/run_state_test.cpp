#include "train/run_state.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hone::train {
namespace {

Json some_state() {
  RunState state;
  state.step = 7;
  state.position = {1, 24};
  state.loss_in_all = 3.25;
  state.best = 0.75;
  state.scaler = optim::LossScaler(1024, 5);
  state.history = {{5, 0.5, {{"loss", 0.6}}}};
  return to_json(state);
}

TEST(RunStateFile, IsReadAsItWasWritten) {
  const Json written = some_state();
  EXPECT_EQ(to_json(state_from_json(written, "state.json")), written);
}

TEST(RunStateFile, WhatCannotBeGoneOnFromIsNamed) {
  const std::vector<std::pair<const char*, Json>> cases = {
      {"global_step", -1},     {"epoch_samples", 0.5},      {"loss_scale", 0},
      {"loss_scale", -1024.0}, {"loss_scale", "65536"},     {"log_history", Json::object()},
      {"best_metric", "high"}, {"samples_seen", Json(1e30)}};
  for (const auto& [field, value] : cases) {
    Json state = some_state();
    state[field] = value;
    try {
      state_from_json(state, "state.json");
      ADD_FAILURE() << field << " " << value;
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(std::string("state.json: ") + field + ": "))
          << error.what();
    }
  }
}

}  // namespace
}  // namespace hone::train
