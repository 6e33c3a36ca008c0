#include "train/gradient_exchange.h"

#include <cmath>
#include <cstring>

#include "comm/ranks.h"
#include "train/family_fixture.h"

namespace hone::train {
namespace {

/// The rows of a golden step that a rank has; where it has all, `ranks` is 1. With three ranks and
/// more, the second has none.
TrainingBatch golden_share(const Family& family, int ranks, int rank) {
  TrainingBatch out{models::TextBatch(family.config()), {}};
  int64_t sample = 0;
  for (const Json& row : family.step(0).at("rows")) {
    const int64_t id = sample++;
    const int owner = ranks == 1 ? 0 : static_cast<int>(id % ranks);
    if ((ranks >= 3 && owner == 1 ? 0 : owner) != rank) continue;
    out.sequences.add(row.at("ids").get<std::vector<int32_t>>(), {}, id);
    const Json& label = row.at("label");
    if (label.is_number_integer()) {
      out.sequences.classes.push_back(label.get<int32_t>());
    } else {
      for (const Json& target : label) out.sequences.targets.push_back(target.get<float>());
    }
  }
  out.state.count = static_cast<double>(sample);
  return out;
}

std::vector<std::vector<float>> gradients_of(const Family& family,
                                             const optim::Optimizer& optimizer) {
  std::vector<std::vector<float>> all;
  for (const nn::Parameter& parameter : family.encoder->parameters().list()) {
    const Weight& weight = parameter.weight;
    all.emplace_back(static_cast<size_t>(weight.rows * weight.width));
    optimizer.read_gradient(weight, all.back().data());
  }
  return all;
}

/// Expects that the difference is at most so much of the gradient's size.
void expect_gradient(const std::vector<std::vector<float>>& got,
                     const std::vector<std::vector<float>>& wanted, double tolerance) {
  double difference = 0, size = 0;
  for (size_t slot = 0; slot < wanted.size(); ++slot) {
    for (size_t i = 0; i < wanted[slot].size(); ++i) {
      difference += std::pow(double{got[slot][i]} - double{wanted[slot][i]}, 2);
      size += std::pow(double{wanted[slot][i]}, 2);
    }
  }
  EXPECT_GT(size, 0);
  EXPECT_LT(std::sqrt(difference), tolerance * std::sqrt(size));
}

class FamilyExchange : public testing::TestWithParam<const char*> {};

TEST_P(FamilyExchange, GivesTheGradientOfOneRank) {
  for (const int ranks : {2, 3, 4, 8}) {
    const std::string name = GetParam();
    comm::expect_all_well(comm::run_ranks(ranks, [&](comm::Communicator& all) {
      Family family(name);
      family.drop(0.1f);
      family.load(chosen_isa());
      ThreadPool pool(1);
      const auto whole = optim::Optimizer::make(family.parameters(), family.all(), {});
      Stepper alone(*family.encoder, family.loss(), *whole, pool);
      const TrainingBatch batch = golden_share(family, 1, 0);
      const double loss = alone.accumulate(batch.sequences, batch.state);

      const auto own = optim::Optimizer::make(family.parameters(), family.all(), {},
                                              [&](size_t bytes) { return all.window(bytes); });
      Stepper stepper(*family.encoder, family.loss(), *own, pool);
      GradientExchange exchange(all, *own, family.parameters(), stepper.plan());
      stepper.set_cuts(exchange.cuts());
      const TrainingBatch part = golden_share(family, ranks, all.rank());
      double shared = 0;
      if (part.sequences.sequences() > 0) {
        const auto ticket = stepper.start(part.sequences, part.state,
                                          [&](size_t steps) { exchange.passed(steps); });
        shared = stepper.loss(ticket);
      }
      exchange.finish();
      all.sum(std::span(&shared, 1));
      EXPECT_NEAR(shared, loss, 1e-6 * std::abs(loss));
      expect_gradient(gradients_of(family, *own), gradients_of(family, *whole), 1e-6);
    }));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyExchange, testing::ValuesIn(kFamilies), family_test_name);

/// A large table of which few rows have a gradient, a small one that is touched everywhere, and a
/// vector.
struct Tables {
  Tables(comm::Communicator& ranks, int64_t touched) : parameters(Target(chosen_isa())) {
    large = parameters.table("large", 500, 24, DType::f32);
    small = parameters.table("small", 6, 24, DType::f32);
    bias = parameters.vector({"bias"}, 24);
    parameters.allocate();
    optimizer = optim::Optimizer::make(parameters, std::vector<bool>(3, true), {},
                                       [&](size_t bytes) { return ranks.window(bytes); });
    const GradientArrays gradients = optimizer->gradients();
    const auto fill = [&](const Weight& weight, int64_t row) {
      const auto slot = static_cast<size_t>(weight.slot);
      if (gradients.touched[slot]) gradients.touched[slot][row] = 1;
      for (int64_t i = 0; i < 24; ++i) {
        static_cast<float*>(gradients.arrays[slot])[row * 24 + i] =
            std::sin(static_cast<float>(1000 * ranks.rank() + 24 * row + i));
      }
    };
    for (int64_t i = 0; i < touched; ++i) fill(large, (5 * ranks.rank() + 11 * i) % 500);
    for (int64_t row = 0; row < 6; ++row) fill(small, row);
    fill(bias, 0);
    Step step;
    step.gradients = {large, small, bias};
    plan.add(std::move(step));
  }

  nn::Parameters parameters;
  Weight large, small, bias;
  std::unique_ptr<optim::Optimizer> optimizer;
  Plan plan;
};

/// Rows that travel by themselves give the bits of the whole table, at the cost of the rows.
TEST(GradientExchange, SendsRowsWithTheBitsOfTheTable) {
  for (const int size : {2, 3, 5}) {
    for (const int64_t touched : {0, 1, 20, 400}) {
      comm::expect_all_well(comm::run_ranks(size, [&](comm::Communicator& ranks) {
        Tables tables(ranks, touched);
        const GradientArray array = tables.optimizer->gradient_array();
        std::vector<float> dense(array.bytes / sizeof(float));
        std::memcpy(dense.data(), array.data, array.bytes);
        ranks.sum(std::span(dense));
        GradientExchange exchange(ranks, *tables.optimizer, tables.parameters, tables.plan);
        exchange.finish();
        EXPECT_EQ(std::memcmp(dense.data(), array.data, array.bytes), 0) << touched;
        const auto rows = static_cast<double>(touched) * (24 * sizeof(float) + sizeof(int32_t));
        const auto ids_of_small = static_cast<double>(6 * sizeof(int32_t));
        const double counts = 2 * sizeof(int32_t);
        const bool sparse = touched < 400;
        EXPECT_EQ(static_cast<double>(exchange.bytes().rows),
                  sparse ? rows + ids_of_small + counts
                         : static_cast<double>(touched * sizeof(int32_t)) + ids_of_small + counts);
        EXPECT_EQ(exchange.bytes().dense, (sparse ? 7u : 507u) * 24 * sizeof(float));
      }));
    }
  }
}

/// Momentum and Adam move rows that have no gradient, too: replicas stay alike over steps.
TEST(GradientExchange, RowsAreUpdatedAsWithTheTable) {
  comm::expect_all_well(comm::run_ranks(2, [](comm::Communicator& ranks) {
    ThreadPool pool(1);
    Tables sparse(ranks, 20), dense(ranks, 20);
    for (Tables* each : {&sparse, &dense}) {
      std::memset(each->parameters.arena(), 0, each->parameters.bytes());
    }
    GradientExchange exchange(ranks, *sparse.optimizer, sparse.parameters, sparse.plan);
    for (int step = 0; step < 3; ++step) {
      const GradientArray rows = sparse.optimizer->gradient_array();
      const GradientArray whole = dense.optimizer->gradient_array();
      if (step > 0) {  // later steps touch other rows
        const auto slot = static_cast<size_t>(sparse.large.slot);
        const int64_t row = 100 + 50 * step + ranks.rank();
        sparse.optimizer->gradients().touched[slot][row] = 1;
        static_cast<float*>(sparse.optimizer->gradients().arrays[slot])[row * 24] = 1;
        static_cast<float*>(dense.optimizer->gradients().arrays[slot])[row * 24] = 1;
      }
      exchange.finish();
      ranks.sum({static_cast<float*>(whole.data), whole.bytes / sizeof(float)});
      EXPECT_EQ(std::memcmp(rows.data, whole.data, rows.bytes), 0);
      sparse.optimizer->step(0.1, pool);
      dense.optimizer->step(0.1, pool);
      EXPECT_EQ(std::memcmp(sparse.parameters.arena_data(), dense.parameters.arena_data(),
                            sparse.parameters.bytes()),
                0);
    }
  }));
}

}  // namespace
}  // namespace hone::train
