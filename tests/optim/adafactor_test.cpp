// Adafactor against transformers' (tests/parity/adafactor_goldens.py), on every instruction set.
#include "base/file.h"
#include "base/json.h"
#include "kernels/cpu/gemm.h"
#include "optim/optimizer_fixture.h"

namespace hone::optim {
namespace {

class AdafactorSet {
 public:
  AdafactorSet(const Json& golden, Isa isa) : golden_(golden), parameters(isa) {
    parameters.matrix({"q.weight", "k.weight"}, 12, 33, DType::f32);
    parameters.table("words", 260, 2, DType::f32);
    parameters.vector({"a.bias"}, 33);
    parameters.allocate();
    for (const nn::Parameter& parameter : parameters.list()) {
      const std::vector<float> start = values_of(golden.at("start"), parameter);
      const int64_t width = nn::row_width(parameter);
      nn::store_rows(parameters, parameter, [&](int64_t first, int64_t count, float* out) {
        std::copy_n(start.begin() + first * width, count * width, out);
      });
    }
  }
  static std::vector<float> values_of(const Json& tensors, const nn::Parameter& parameter) {
    std::vector<float> values;
    for (const std::string& name : parameter.tensors) {
      for (const Json& value : tensors.at(name)) values.push_back(value.get<float>());
    }
    return values;
  }
  void step(Optimizer& optimizer, ThreadPool& pool, size_t number) {
    for (const nn::Parameter& parameter : parameters.list()) {
      optimizer.write_gradient(parameter.weight,
                               values_of(golden_.at("gradients").at(number), parameter).data());
    }
    optimizer.step(golden_.at("rate"), pool);
  }

 private:
  const Json& golden_;

 public:
  nn::Parameters parameters;
};

TEST(AdafactorOf, AgreesWithTransformers) {
  const std::string file = HONE_TEST_DIR "/goldens/adafactor.json";
  const Json golden = parse_json(read_file(file), file);
  const OptimizerOptions options{
      .kind = OptimizerKind::adafactor, .weight_decay = golden.at("decay"), .max_grad_norm = 0};
  for (const Isa isa : available_isas()) {
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(std::string(isa_name(isa)) + " threads " + std::to_string(threads));
      const ScopedIsa scoped(isa);
      ThreadPool pool(threads);
      AdafactorSet set(golden, isa);
      const auto optimizer = Optimizer::make(set.parameters, {true, true, true}, options);
      EXPECT_LT(optimizer->layout().bytes(), 2300u);
      for (size_t number = 0; number < golden.at("gradients").size(); ++number) {
        set.step(*optimizer, pool, number);
      }
      for (const nn::Parameter& parameter : set.parameters.list()) {
        const std::vector<float> wanted = AdafactorSet::values_of(golden.at("end"), parameter);
        const size_t slot = static_cast<size_t>(parameter.weight.slot);
        size_t at = 0;
        nn::read_rows(parameter, {isa, DType::f32, set.parameters.pointers()[slot]}, 0,
                      nn::row_count(parameter), [&](int64_t, int64_t count, const float* rows) {
                        for (int64_t i = 0; i < count * nn::row_width(parameter); ++i, ++at) {
                          ASSERT_NEAR(rows[i], wanted[at], 2e-6) << parameter.tensors[0] << at;
                        }
                      });
        ASSERT_EQ(at, wanted.size());
      }
    }
  }
}

}  // namespace
}  // namespace hone::optim
