// The kernels beside attention against double precision, under three schedules.
#include "../activation.cu"
#include "../conv_unfold.cu"
#include "../embed.cu"
#include "../head.cu"
#include "../layer_norm.cu"
#include "../mean_pool.cu"
#include "check.h"

using check::Packed;
using check::Random;
using check::value;

// Rounding to a half moves a number by at most this part of itself; what is stored as a half may be off by it and a little.
static const double HALF_STEP = 1.0 / 2048;
static const i32 WIDTHS[] = {8, 128, 264, 384, 768, 1024, 1536, 2048};

static i32 quotient_up(i64 a, i64 b) { return (i32)((a + b - 1) / b); }

// Runs a kernel under each schedule; its cost must be the formula's and its output right every time.
template <class Kernel, class Verify> static void every_schedule(const std::string& what, shim::Launch how, const shim::Cost& formula, Kernel kernel, Verify verify) {
  for (const shim::Schedule schedule : check::SCHEDULES) {
    how.schedule = schedule;
    shim::cost = shim::Cost();
    shim::launch(how, kernel);
    const std::string title = what + " " + check::name(schedule);
    check::expect_cost(shim::cost, formula, title);
    verify(title);
  }
}

static void expect_near(double got, double right, double absolute, double relative, const std::string& what) {
  if (std::isnan(right) ? std::isnan(got) : got == right) return;
  if (!(std::fabs(got - right) <= absolute + relative * std::fabs(right)))
    check::expect(false, what + ": " + std::to_string(got) + " for " + std::to_string(right));
}

static std::vector<double> normed(const std::vector<double>& x, const u16* gain, const u16* offset, double eps) {
  double mean = 0, variance = 0;
  for (double v : x) mean += v / x.size();
  for (double v : x) variance += (v - mean) * (v - mean) / x.size();
  std::vector<double> out;
  for (size_t i = 0; i < x.size(); i++) out.push_back((x[i] - mean) / std::sqrt(variance + eps) * value(gain[i]) + value(offset[i]));
  return out;
}

static void check_embed(i32 width) {
  Random random(width);
  const i32 vocabulary = 50, rows = 13;
  const auto words = random.halves(vocabulary * width, 0.05), positions = random.halves(16 * width, 0.05, 1), types = random.halves(2 * width, 0.02);
  const auto gain = random.halves(width, 0.2, 1), offset = random.halves(width, 0.2);
  std::vector<i32> ids(rows), place(rows), type(rows);
  for (i32 r = 0; r < rows; r++) {
    ids[r] = random.below(vocabulary);
    place[r] = r;
    type[r] = random.below(2);
  }
  const shim::Launch how{quotient_up(rows, ROW_WARPS), 1, ROW_THREADS};
  for (i32 tables = 1; tables <= 3; tables++) {
    std::vector<u16> out(rows * width + 8);
    std::vector<float> wide(rows * width + 4);
    EmbedArgs a{words.data(), tables > 1 ? positions.data() : nullptr, tables > 2 ? types.data() : nullptr, ids.data(), place.data(), type.data(),
                gain.data(), offset.data(), out.data(), tables > 2 ? wide.data() : nullptr, rows, width, 1e-7f};
    const std::string name = "embed_norm width " + std::to_string(width) + " tables " + std::to_string(tables);
    auto kernel = [&] { width <= 512 ? embed_norm_512(a) : width <= 1024 ? embed_norm_1024(a) : embed_norm_2048(a); };
    every_schedule(name, how, embed_cost(rows, width, tables, tables > 2), kernel, [&](const std::string& what) {
      for (i32 r = 0; r < rows; r++) {
        std::vector<double> x(width);
        for (i32 i = 0; i < width; i++)
          x[i] = value(words[ids[r] * width + i]) + (tables > 1 ? value(positions[place[r] * width + i]) : 0) + (tables > 2 ? value(types[type[r] * width + i]) : 0);
        const auto right = normed(x, gain.data(), offset.data(), 1e-7);
        for (i32 i = 0; i < width; i++) {
          expect_near(value(out[r * width + i]), right[i], 2e-5, HALF_STEP, what);
          if (tables > 2) expect_near(wide[r * width + i], right[i], 2e-5, 1e-5, what + " wide");
        }
      }
      std::fill(out.begin(), out.end(), 0x7e00);
    });
  }
  std::vector<u16> out(rows * width + 8);
  every_schedule("gather_rows", how, gather_cost(rows, width), [&] { gather_rows({words.data(), ids.data(), out.data(), rows, width}); }, [&](const std::string& what) {
    bool same = true;
    for (i32 r = 0; r < rows; r++) same = same && std::equal(&out[r * width], &out[r * width] + width, &words[ids[r] * width]);
    check::expect(same, what + ": not the rows of the table");
    std::fill(out.begin(), out.end(), 0x7e00);
  });
}

static void check_norm(i32 width) {
  Random random(width + 1);
  const i32 rows = 9;
  const auto gain = random.halves(width, 0.2, 1), offset = random.halves(width, 0.2);
  // A large mean: the variance must not come from a difference of large sums.
  const auto x = random.halves((size_t)rows * width, 0.5, 30), residual = random.halves((size_t)rows * width, 0.5);
  // Beyond the range of halves, for the wide variant.
  const auto x32 = random.floats((size_t)rows * width, 2e5), residual32 = random.floats((size_t)rows * width, 1e5);
  std::vector<u16> out((size_t)rows * width + 8);
  std::vector<float> wide((size_t)rows * width + 4);
  const shim::Launch how{quotient_up(rows, ROW_WARPS), 1, ROW_THREADS};
  auto verify = [&](const std::string& what, auto number, bool is_wide) {
    for (i32 r = 0; r < rows; r++) {
      std::vector<double> sum(width);
      for (i32 i = 0; i < width; i++) sum[i] = number(r * width + i);
      const auto right = normed(sum, gain.data(), offset.data(), 1e-7);
      for (i32 i = 0; i < width; i++) {
        expect_near(value(out[r * width + i]), right[i], 5e-5, HALF_STEP, what);
        if (is_wide) expect_near(wide[r * width + i], right[i], 2e-5, 1e-5, what + " wide");
      }
    }
    std::fill(out.begin(), out.end(), 0x7e00);
    std::fill(wide.begin(), wide.end(), NAN);
  };
  const std::string name = "add_norm width " + std::to_string(width);
  NormArgs<u16> a{x.data(), residual.data(), gain.data(), offset.data(), out.data(), nullptr, rows, width, 1e-7f};
  every_schedule(name, how, add_norm_cost(rows, width, false), [&] { width <= 512 ? add_norm_512(a) : width <= 1024 ? add_norm_1024(a) : add_norm_2048(a); },
                 [&](const std::string& what) { verify(what, [&](i32 i) { return value(x[i]) + value(residual[i]); }, false); });
  NormArgs<float> b{x32.data(), residual32.data(), gain.data(), offset.data(), out.data(), wide.data(), rows, width, 1e-7f};
  every_schedule(name + " f32", how, add_norm_cost(rows, width, true), [&] { width <= 512 ? add_norm_f32_512(b) : width <= 1024 ? add_norm_f32_1024(b) : add_norm_f32_2048(b); },
                 [&](const std::string& what) { verify(what, [&](i32 i) { return (double)x32[i] + residual32[i]; }, true); });
}

static double exact(i32 function, double x) {
  if (function == ACT_GELU) return std::isinf(x) ? (x > 0 ? x : 0) : 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  if (function == ACT_TANH) return std::tanh(x);
  return function == ACT_RELU ? (x < 0 ? 0 : x) : x;
}

// Every half there is, infinities and NaN among them.
static void check_activation() {
  const i32 width = 1024, rows = 64;
  std::vector<u16> every(rows * width), x;
  for (size_t i = 0; i < every.size(); i++) every[i] = (u16)i;
  Random random(4);
  const auto bias = random.halves(width, 0.5);
  for (i32 function : {ACT_GELU, ACT_TANH, ACT_RELU})
    for (bool with_bias : {false, true}) {
      u64 negative = 0, others = 0;
      auto before = [&](size_t i) { return (float)value(every[i]) + (with_bias ? (float)value(bias[i % width]) : 0.0f); };
      for (size_t i = 0; i < every.size(); i++) {
        negative += before(i) < 0;
        others += std::isnan(before(i));
      }
      shim::Cost formula = activation_cost(function, every.size(), negative, with_bias);
      formula.flops -= others * activate_flops(function, false);
      for (const shim::Schedule schedule : check::SCHEDULES) {
        x = every;
        ActivationArgs a{x.data(), with_bias ? bias.data() : nullptr, rows, width};
        shim::cost = shim::Cost();
        shim::launch({quotient_up(rows * width / 8, ACTIVATION_THREADS), 1, ACTIVATION_THREADS, 0, schedule}, [&] { function == ACT_GELU ? bias_gelu(a) : function == ACT_TANH ? bias_tanh(a) : bias_relu(a); });
        const std::string what = "activation " + std::to_string(function) + " " + check::name(schedule);
        check::expect_cost(shim::cost, formula, what);
        // 6e-8 is the smallest step of a half.
        for (size_t i = 0; i < every.size(); i++) expect_near(value(x[i]), value(shim::to_half((float)exact(function, before(i)))), 6.1e-8, 1.01 / 1024, what);
      }
    }
}

static void check_unfold() {
  Random random(8);
  const i32 width = 136;
  for (i32 taps : {1, 3, 5}) {
    const Packed batch({9, 1, 2, 4});
    const auto x = random.halves(batch.tokens * width, 1);
    std::vector<u16> out(batch.tokens * taps * width + 8, 0x7e00);
    UnfoldArgs a{x.data(), batch.positions.data(), out.data(), batch.tokens, width, taps};
    every_schedule("conv_unfold " + std::to_string(taps), {quotient_up(batch.tokens, ROW_WARPS), taps, ROW_THREADS}, unfold_cost(batch.lengths, width, taps), [&] { conv_unfold(a); }, [&](const std::string& what) {
      bool same = true;
      for (size_t s = 0; s < batch.lengths.size(); s++)
        for (i32 i = 0; i < batch.lengths[s]; i++)
          for (i32 k = 0; k < taps; k++) {
            const i32 j = i + k - taps / 2, row = batch.cu[s] + i;
            for (i32 c = 0; c < width; c++)
              same = same && out[((size_t)row * taps + k) * width + c] == (j >= 0 && j < batch.lengths[s] ? x[(batch.cu[s] + j) * width + c] : 0);
          }
      check::expect(same, what + ": not the windows of each sequence");
      std::fill(out.begin(), out.end(), 0x7e00);
    });
  }
}

static void check_head(i32 width, i32 sequences, i32 function) {
  Random random(width + sequences);
  const i32 labels = 3;
  const auto x = random.halves(sequences * width, 1), weight = random.halves(width * width, 0.1), bias = random.halves(width, 0.1);
  auto out_weight = random.halves(labels * width, 0.1);
  const auto out_bias = random.halves(labels, 0.1);
  std::vector<float> pooled(sequences * width + 4), logits(sequences * labels);
  std::vector<double> right(sequences * width);
  const std::string name = "width " + std::to_string(width) + " sequences " + std::to_string(sequences);
  u64 negative = 0;
  for (i32 s = 0; s < sequences; s++)
    for (i32 o = 0; o < width; o++) {
      double sum = value(bias[o]);
      for (i32 i = 0; i < width; i++) sum += value(weight[o * width + i]) * value(x[s * width + i]);
      negative += sum < 0;
      right[s * width + o] = exact(function, sum);
    }
  PoolerArgs p{x.data(), weight.data(), bias.data(), pooled.data(), sequences, width, function};
  every_schedule("pooler " + name, {quotient_up(width, ROW_WARPS), quotient_up(sequences, POOLER_ROWS), ROW_THREADS}, pooler_cost(sequences, width, function, negative), [&] { pooler(p); }, [&](const std::string& what) {
    for (size_t i = 0; i < right.size(); i++) expect_near(pooled[i], right[i], 1e-4, 1e-4, what);
  });
  // One sequence overflows and one is not a number: each label of both is counted.
  pooled[0] = INFINITY;
  pooled[width] = NAN;
  u32 counted = 0;
  ClassifierArgs c{pooled.data(), out_weight.data(), out_bias.data(), logits.data(), &counted, labels, width};
  every_schedule("classifier " + name, {quotient_up(labels, ROW_WARPS), sequences, ROW_THREADS}, classifier_cost(sequences, labels, width), [&] { classifier(c); }, [&](const std::string& what) {
    check::expect(counted == 2 * (u32)labels, what + ": counted " + std::to_string(counted) + " logits that are not finite");
    counted = 0;
    for (i32 s = 2; s < sequences; s++)
      for (i32 l = 0; l < labels; l++) {
        double sum = value(out_bias[l]);
        for (i32 i = 0; i < width; i++) sum += value(out_weight[l * width + i]) * pooled[s * width + i];
        expect_near(logits[s * labels + l], sum, 1e-4, 1e-4, what);
      }
  });
}

static void check_mean(i32 width) {
  const Packed batch({40, 9, 8, 1, 0});
  Random random(width);
  const auto x = random.halves(batch.tokens * width, 1, 0.5);
  std::vector<float> out(batch.lengths.size() * width, NAN);
  MeanArgs a{x.data(), batch.cu.data(), out.data(), width};
  every_schedule("mean_pool " + std::to_string(width), {(i32)batch.lengths.size(), quotient_up(width, 256), MEAN_THREADS, MEAN_SHARED_BYTES}, mean_cost(batch.lengths, width), [&] { mean_pool(a); }, [&](const std::string& what) {
    for (size_t s = 0; s < batch.lengths.size(); s++)
      for (i32 c = 0; c < width; c++) {
        double sum = 0;
        for (i32 i = 0; i < batch.lengths[s]; i++) sum += value(x[(batch.cu[s] + i) * width + c]);
        expect_near(out[s * width + c], batch.lengths[s] ? sum / batch.lengths[s] : 0.0, 1e-6, 1e-5, what);
      }
    std::fill(out.begin(), out.end(), NAN);
  });
}

int main(int argc, char** argv) {
  check::stops_at_first = argc > 1 && std::string(argv[1]) == "quick";
  for (i32 width : WIDTHS) {
    check_embed(width);
    check_norm(width);
    check_mean(width);
  }
  check_activation();
  check_unfold();
  for (i32 function : {ACT_GELU, ACT_TANH, ACT_RELU, ACT_NONE}) check_head(128, 9, function);
  check_head(264, 2, ACT_GELU);
  return check::finished("rows");
}
