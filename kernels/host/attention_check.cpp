// The attention kernels against double precision, under three schedules.
//
//   attention_check quick    the small set that faults are caught with; stops at the first failure
//   attention_check launches how a launch is laid out for each target and length, as a table
//   attention_check ci       every length to 130 and 40 up to 700
//   attention_check full     the same with every combination of the settings
#include "../attention_cls.cu"
#include "../attention_disentangled.cu"
#include "../attention_plain.cu"
#include "../conformance.cu"
#include "../mean_pool.cu"
#include "check.h"

using check::Distances;
using check::Packed;
using check::Random;
using shim::Schedule;

// How far fused attention may be from double precision, as relative L2.
static const double MOST_ERROR = 1e-3;
static const i32 HEADS = 2;
static double worst = 0;
static u64 launches = 0;

static void expect_close(const check::Error& e, const std::string& what) {
  launches++;
  worst = std::max(worst, e.relative());
  check::expect(e.finite && e.relative() <= MOST_ERROR, what + ": relative L2 " + std::to_string(e.relative()) + (e.finite ? "" : ", not finite"));
}

static std::string describe(const Packed& batch) {
  std::string s = "lengths";
  for (i32 l : batch.lengths) s += " " + std::to_string(l);
  return s;
}

// Random inputs of a layer, with the exact answer.
struct Problem {
  i32 d;
  Packed batch;
  Distances distances;
  std::vector<u16> qkv, pk, pq;  // tables as halves, scaled
  double scale;                  // 1 / sqrt(3 d) in base 2
  std::vector<double> exact;     // [tokens][heads][d]

  Problem(i32 d, const std::vector<i32>& lengths, Distances distances, u64 seed) : d(d), batch(lengths), distances(distances) {
    Random random(seed);
    scale = check::LOG2E / std::sqrt(3.0 * d);
    qkv = random.halves((size_t)batch.tokens * 3 * HEADS * d, 1);
    pk = random.halves((size_t)HEADS * 2 * distances.span() * d, 1);
    pq = random.halves(pk.size() - 8, 1);
    std::vector<double> exact_pk, exact_pq;
    for (auto [halves, exact] : {std::pair{&pk, &exact_pk}, std::pair{&pq, &exact_pq}})
      for (u16& h : *halves) {
        exact->push_back(check::value(h) * scale);
        h = shim::to_half((float)exact->back());
      }
    solve(exact_pk, exact_pq);
  }
  const u16* at(i32 token, i32 which, i32 head) const { return &qkv[(((size_t)token * 3 + which) * HEADS + head) * d]; }
  // The definition, in double precision.
  void solve(const std::vector<double>& exact_pk, const std::vector<double>& exact_pq) {
    exact.assign((size_t)batch.tokens * HEADS * d, 0);
    std::vector<double> q(d), scores, values(qkv.size());
    for (size_t i = 0; i < qkv.size(); i++) values[i] = check::value(qkv[i]);
    auto doubles = [&](i32 token, i32 which, i32 head) { return &values[at(token, which, head) - qkv.data()]; };
    for (size_t s = 0; s < batch.lengths.size(); s++)
      for (i32 head = 0; head < HEADS; head++)
        for (i32 i = 0; i < batch.lengths[s]; i++) {
          const i32 n = batch.lengths[s], first = batch.cu[s];
          const double* query = doubles(first + i, 0, head);
          scores.assign(n, 0);
          for (i32 j = 0; j < n; j++) {
            const size_t entry = ((size_t)head * 2 * distances.span() + distances.slot(i - j)) * d;
            const double* key = doubles(first + j, 1, head);
            double content = 0, position = 0;
            for (i32 x = 0; x < d; x++) {
              content += query[x] * key[x];
              position += query[x] * exact_pk[entry + x] + key[x] * exact_pq[entry + x];
            }
            scores[j] = content * scale + position;
          }
          accumulate(scores, &exact[((size_t)(first + i) * HEADS + head) * d], [&](i32 j) { return doubles(first + j, 2, head); });
        }
  }
  template <class Value> void accumulate(std::vector<double>& scores, double* out, Value value) const {
    const double top = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (double& x : scores) total += x = std::exp2(x - top);
    for (size_t j = 0; j < scores.size(); j++)
      for (i32 x = 0; x < d; x++) out[x] += scores[j] / total * value((i32)j)[x];
  }
  check::Error error(const std::vector<u16>& out) const {
    check::Error e;
    for (size_t i = 0; i < exact.size(); i++) e.add(check::value(out[i]), exact[i]);
    return e;
  }
};

struct Setting {
  bool resident;
  i32 stages, groups, blocks;
};

static std::vector<u16> run_disentangled(const Problem& p, Setting s, Schedule schedule, const std::string& what) {
  const check::SlotWindow window(p.distances, p.batch.window());
  std::vector<u16> out(p.exact.size() + 8, 0x7e00);
  DisentangledArgs a{p.qkv.data(), p.pk.data(), p.pq.data(), window.zero(), out.data(), p.batch.cu.data(), p.batch.tiles.data(), &p.batch.n_tiles,
                     HEADS, 2 * p.distances.span(), window.first, window.slots, window.reach, p.distances.linear(), s.stages, (float)p.scale};
  const auto layout = disentangled_layout(p.d, s.resident, a.slots, a.reach, s.stages, s.groups);
  shim::Launch how{s.blocks, HEADS, GROUP_THREADS * s.groups, (size_t)layout.bytes, schedule, 7};
  shim::cost = shim::Cost();
  shim::launch(how, [&] {
    if (p.d == 64) s.resident ? attention_disentangled_d64_resident(a) : attention_disentangled_d64_streaming(a);
    else s.resident ? attention_disentangled_d32_resident(a) : attention_disentangled_d32_streaming(a);
  });
  const shim::Cost counted = shim::cost;
  auto slot = [&](i32 distance) { return p.distances.slot(distance) - window.first; };
  check::expect_cost(counted, disentangled_cost(p.d, s.resident, a, s.blocks, s.groups, p.batch.lengths, slot), what);
  expect_close(p.error(out), what);
  return out;
}

static void check_disentangled(i32 d, const std::vector<i32>& lengths, Distances distances, const std::vector<Setting>& settings) {
  const Problem p(d, lengths, distances, 1000 + d + lengths[0]);
  std::vector<u16> before;
  for (const Setting& s : settings)
    for (const Schedule schedule : check::SCHEDULES) {
      const std::string what = std::string("disentangled ") + (s.resident ? "resident" : "streaming") + " d=" + std::to_string(d) + " B=" +
                               std::to_string(distances.buckets) + " M=" + std::to_string(distances.most) + " stages=" + std::to_string(s.stages) +
                               " groups=" + std::to_string(s.groups) + " " + check::name(schedule) + " " + describe(p.batch);
      auto out = run_disentangled(p, s, schedule, what);
      check::expect(before.empty() || before == out, what + ": not the same bits as another schedule or variant");
      before = std::move(out);
    }
}

// A sequence has the same bits alone and among others.
static void check_composition(i32 d) {
  const Problem together(d, {150, 64, 33}, {256, 512}, 5);
  const auto all = run_disentangled(together, {true, 2, 2, 1}, Schedule::Ascending, "composition");
  Problem alone(d, {33}, {256, 512}, 5);
  const size_t row = (size_t)HEADS * d, first = together.batch.cu[2];
  alone.pk = together.pk;
  alone.pq = together.pq;
  std::copy_n(together.qkv.begin() + first * 3 * row, 33 * 3 * row, alone.qkv.begin());
  alone.exact.assign(together.exact.begin() + first * row, together.exact.begin() + (first + 33) * row);
  const auto one = run_disentangled(alone, {true, 2, 1, 1}, Schedule::Ascending, "composition, alone");
  check::expect(std::equal(one.begin(), one.begin() + 33 * row, all.begin() + first * row), "composition of a batch changes bits, d=" + std::to_string(d));
}

static void check_plain(i32 d, const std::vector<i32>& lengths, bool bias, Setting s) {
  Problem p(d, lengths, {32, 128}, 77 + d);
  const i32 reach = bias ? 129 : 0, width = 2 * reach - 1;
  const double scale = bias ? check::LOG2E * 0.2 : check::LOG2E / std::sqrt(d);
  Random random(3);
  const auto table = random.floats((size_t)HEADS * std::max(width, 1), 2);
  std::fill(p.exact.begin(), p.exact.end(), 0);
  for (size_t q = 0; q < p.batch.lengths.size(); q++)
    for (i32 head = 0; head < HEADS; head++)
      for (i32 i = 0; i < p.batch.lengths[q]; i++) {
        std::vector<double> scores(p.batch.lengths[q]);
        std::vector<std::vector<double>> values;
        for (i32 j = 0; j < p.batch.lengths[q]; j++) {
          double sum = 0;
          values.emplace_back(d);
          for (i32 x = 0; x < d; x++) {
            sum += check::value(p.at(p.batch.cu[q] + i, 0, head)[x]) * check::value(p.at(p.batch.cu[q] + j, 1, head)[x]);
            values[j][x] = check::value(p.at(p.batch.cu[q] + j, 2, head)[x]);
          }
          scores[j] = sum * scale + (bias ? table[head * width + reach - 1 + std::max(-reach + 1, std::min(reach - 1, i - j))] : 0.0);
        }
        p.accumulate(scores, &p.exact[((size_t)(p.batch.cu[q] + i) * HEADS + head) * d], [&](i32 j) { return values[j].data(); });
      }
  for (const Schedule schedule : check::SCHEDULES) {
    const std::string what = "plain d=" + std::to_string(d) + (bias ? " bias " : " ") + check::name(schedule) + " " + describe(p.batch);
    std::vector<u16> out(p.exact.size() + 8, 0x7e00);
    PlainArgs a{p.qkv.data(), bias ? table.data() + reach - 1 : nullptr, out.data(), p.batch.cu.data(), p.batch.tiles.data(), &p.batch.n_tiles, HEADS, reach, width, s.stages, (float)scale};
    shim::Launch how{s.blocks, HEADS, GROUP_THREADS * s.groups, (size_t)plain_layout(d, reach, s.stages, s.groups).bytes, schedule, 9};
    shim::cost = shim::Cost();
    shim::launch(how, [&] {
      if (d == 64) bias ? attention_plain_d64_bias(a) : attention_plain_d64(a);
      else bias ? attention_plain_d32_bias(a) : attention_plain_d32(a);
    });
    check::expect_cost(shim::cost, plain_cost(d, bias, a, s.blocks, s.groups, p.batch.lengths), what);
    expect_close(p.error(out), what);
  }
}

// The first token's row of the whole attention, and zeros for a sequence without tokens.
static void check_cls(i32 d, const std::vector<i32>& lengths, Distances distances) {
  const Problem p(d, lengths, distances, 31 + d);
  const check::SlotWindow window(distances, p.batch.window());
  std::vector<i32> cu = p.batch.cu, with_empty = p.batch.lengths;
  cu.push_back(cu.back());
  with_empty.push_back(0);
  const i32 n = (i32)with_empty.size();
  const size_t row = (size_t)HEADS * d;
  std::vector<u16> q(n * row + 8, 0);
  for (i32 s = 0; s + 1 < n; s++) std::copy_n(p.at(cu[s], 0, 0), row, q.begin() + s * row);
  for (const Schedule schedule : check::SCHEDULES) {
    const std::string what = "cls d=" + std::to_string(d) + " " + check::name(schedule) + " " + describe(p.batch);
    std::vector<u16> out(n * row + 8, 0x7e00);
    ClsArgs a{q.data(), p.at(0, 1, 0), p.at(0, 2, 0), p.pk.data(), p.pq.data(), window.zero(), nullptr, out.data(), cu.data(), HEADS, 3 * HEADS * d, 2 * distances.span(), window.reach, 0, (float)p.scale};
    shim::cost = shim::Cost();
    shim::launch({n, HEADS, CLS_THREADS, CLS_SHARED_BYTES, schedule, 11}, [&] { d == 64 ? attention_cls_disentangled_d64(a) : attention_cls_disentangled_d32(a); });
    check::expect_cost(shim::cost, cls_cost(d, true, false, HEADS, with_empty), what);
    check::Error e;
    for (i32 s = 0; s < n; s++)
      for (size_t x = 0; x < row; x++) e.add(check::value(out[s * row + x]), s + 1 < n ? p.exact[cu[s] * row + x] : 0.0);
    expect_close(e, what);
  }
}

static void check_cls_plain(i32 d, const std::vector<i32>& lengths, bool bias) {
  const Packed batch(lengths);
  Random random(17 + d);
  const size_t row = (size_t)HEADS * d;
  const auto q = random.halves(batch.lengths.size() * row, 1), kv = random.halves(batch.tokens * 2 * row, 1);
  const i32 reach = 129, width = 2 * reach - 1, n = (i32)batch.lengths.size();
  const auto table = random.floats(HEADS * width, 2);
  const double scale = check::LOG2E / std::sqrt(d);
  for (const Schedule schedule : check::SCHEDULES) {
    const std::string what = "cls plain d=" + std::to_string(d) + (bias ? " bias " : " ") + check::name(schedule) + " " + describe(batch);
    std::vector<u16> out(n * row + 8, 0x7e00);
    ClsArgs a{q.data(), kv.data(), kv.data() + row, nullptr, nullptr, nullptr, bias ? table.data() + reach - 1 : nullptr, out.data(), batch.cu.data(), HEADS, (i32)(2 * row), 0, reach, width, (float)scale};
    shim::cost = shim::Cost();
    shim::launch({n, HEADS, CLS_THREADS, CLS_SHARED_BYTES, schedule, 11}, [&] { d == 64 ? attention_cls_plain_d64(a) : attention_cls_plain_d32(a); });
    check::expect_cost(shim::cost, cls_cost(d, false, bias, HEADS, batch.lengths), what);
    check::Error e;
    for (i32 s = 0; s < n; s++)
      for (i32 head = 0; head < HEADS; head++) {
        std::vector<double> scores(batch.lengths[s]), exact(d, 0);
        double total = 0;
        for (i32 j = 0; j < batch.lengths[s]; j++) {
          for (i32 x = 0; x < d; x++) scores[j] += check::value(q[s * row + head * d + x]) * check::value(kv[(batch.cu[s] + j) * 2 * row + head * d + x]) * scale;
          scores[j] += bias ? table[head * width + reach - 1 - std::min(j, reach - 1)] : 0.0;
          total += std::exp2(scores[j]);
        }
        for (i32 j = 0; j < batch.lengths[s]; j++)
          for (i32 x = 0; x < d; x++) exact[x] += std::exp2(scores[j]) / total * check::value(kv[(batch.cu[s] + j) * 2 * row + row + head * d + x]);
        for (i32 x = 0; x < d; x++) e.add(check::value(out[s * row + head * d + x]), exact[x]);
      }
    expect_close(e, what);
  }
}

static const Setting RESIDENT{true, 2, 1, 2}, SHARED{true, 1, 3, 1}, STREAMING{false, 2, 1, 2}, STREAMING_THIN{false, 1, 2, 1};
static const Distances LAYOUTS[] = {{256, 512}, {256, 1680}};
static const Distances OTHER_LAYOUTS[] = {{32, 512}, {0, 512}};

static void quick() {
  for (i32 d : {64, 32}) {
    for (const Setting& s : {RESIDENT, SHARED, STREAMING, STREAMING_THIN}) {
      check_disentangled(d, {1, 40, 65}, {256, 512}, {s});
      check_disentangled(d, {330, 129}, {256, 512}, {s});
    }
    check_disentangled(d, {130}, {32, 512}, {RESIDENT});
    for (bool bias : {false, true}) {
      check_plain(d, {200, 64, 3}, bias, RESIDENT);
      check_plain(d, {130, 20}, bias, SHARED);
      check_cls_plain(d, {150, 1, 40}, bias);
    }
    check_cls(d, {300, 64, 17, 1}, {256, 512});
  }
}

static void sweep(bool full, i32 part, i32 parts) {
  i32 unit = 0;
  auto mine = [&] { return unit++ % parts == part; };
  for (i32 d : {32, 64}) {
    for (const Distances& layout : LAYOUTS)
      for (const auto& lengths : check::all_short_lengths())
        if (mine()) check_disentangled(d, lengths, layout, full ? std::vector<Setting>{RESIDENT, SHARED, STREAMING, STREAMING_THIN} : std::vector<Setting>{RESIDENT, STREAMING_THIN});
    i32 batch = 0;
    for (const auto& lengths : check::sampled_lengths(40)) {
      batch++;
      for (i32 l = 0; l < 2; l++)
        if ((full || (batch + d / 32) % 2 == l) && mine()) check_disentangled(d, lengths, LAYOUTS[l], full ? std::vector<Setting>{RESIDENT, SHARED, STREAMING, STREAMING_THIN} : std::vector<Setting>{batch % 4 < 2 ? SHARED : RESIDENT, batch % 4 < 2 ? STREAMING : STREAMING_THIN});
    }
    for (const Distances& layout : OTHER_LAYOUTS)
      if (mine()) check_disentangled(d, {1, 17, 64, 100, 190, 330}, layout, {RESIDENT, STREAMING});
    for (const auto& lengths : check::all_short_lengths()) {
      if (!mine()) continue;
      check_cls(d, lengths, LAYOUTS[0]);
      for (bool bias : {false, true}) {
        check_plain(d, lengths, bias, unit % 2 ? RESIDENT : SHARED);
        check_cls_plain(d, lengths, bias);
      }
    }
    if (mine()) {
      check_cls(d, {700, 513, 129, 2}, LAYOUTS[1]);
      check_plain(d, {700, 300}, true, RESIDENT);
      check_composition(d);
    }
  }
}

static const std::pair<const char*, i32> TARGETS[] = {{"sm_80", 163 << 10}, {"sm_86", 99 << 10}, {"sm_89", 99 << 10}, {"sm_90a", 227 << 10}};

// The kernels beside disentangled attention that take shared memory: plain attention with and without a bias, first tokens, the
// mean, and the check of wrappers.
static void print_other_launches() {
  printf("target  kernel           d   reach  groups  stages  bytes\n");
  for (const auto& [target, limit] : TARGETS) {
    for (i32 d : {32, 64})
      for (i32 reach : {0, 129, 512}) {
        const std::pair<i32, i32> order[] = {{3, 2}, {2, 2}, {3, 1}, {2, 1}, {1, 2}, {1, 1}};
        const auto* const found = std::find_if(std::begin(order), std::end(order), [&](auto it) { return plain_layout(d, reach, it.second, it.first).bytes <= limit; });
        check::expect(found != std::end(order), "no launch fits");
        printf("%-7s %-16s %-3d %-6d %-7d %-7d %d\n", target, "attention_plain", d, reach, found->first, found->second, plain_layout(d, reach, found->second, found->first).bytes);
      }
    for (const auto& [kernel, bytes] : {std::pair{"attention_cls", CLS_SHARED_BYTES}, {"mean_pool", MEAN_SHARED_BYTES}, {"conformance", CONFORMANCE_SHARED_BYTES}})
      printf("%-7s %-16s -   -      1       1       %d\n", target, kernel, bytes);
  }
}

// Every plan fits its target; the table is committed, so that a change of the layout is seen.
static int print_launches() {
  printf("target  d   B    M     tokens  tables     groups  stages  bytes\n");
  for (const auto& [target, limit] : TARGETS)
    for (i32 d : {32, 64})
      for (const Distances& layout : {Distances{256, 512}, Distances{256, 1680}, Distances{0, 512}})
        for (i32 tokens : {64, 128, 256, 512, 1680}) {
          const check::SlotWindow window(layout, Packed({tokens}).window());
          const DisentangledPlan plan = disentangled_plan(limit, d, window.slots, window.reach);
          check::expect(plan.groups > 0 && plan.bytes <= limit, "no launch fits");
          printf("%-7s %-3d %-4d %-5d %-7d %-10s %-7d %-7d %d\n", target, d, layout.buckets, layout.most, tokens, plan.resident ? "resident" : "streaming", plan.groups, plan.stages, plan.bytes);
        }
  print_other_launches();
  return check::failures ? 1 : 0;
}

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "quick";
  const i32 part = argc > 3 ? atoi(argv[2]) : 0, parts = argc > 3 ? atoi(argv[3]) : 1;
  if (how == "launches") return print_launches();
  check::stops_at_first = how == "quick";
  if (how == "quick") quick();
  else sweep(how == "full", part, parts);
  printf("attention: %llu launches, worst relative L2 %.2e\n", (unsigned long long)launches, worst);
  return check::finished("attention");
}
