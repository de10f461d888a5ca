// What the host checks share: numbers, slots of distances, comparison, and asserting costs.
#pragma once
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>

#include "shim.h"

namespace check {

inline const double LOG2E = 1.4426950408889634;
inline i32 failures = 0;
// One failure is enough where only the fact matters.
inline bool stops_at_first = false;

// Reports what must hold and does not.
inline void expect(bool holds, const std::string& what) {
  if (holds) return;
  failures++;
  fprintf(stderr, "FAILED: %s\n", what.c_str());
  if (stops_at_first) exit(1);
}

inline void expect_cost(const shim::Cost& counted, const shim::Cost& formula, const std::string& what) {
  auto same = [&](u64 a, u64 b, const char* name) {
    expect(a == b, what + ": " + name + " counted " + std::to_string(a) + ", by the formula " + std::to_string(b));
  };
  same(counted.read, formula.read, "bytes read");
  same(counted.written, formula.written, "bytes written");
  same(counted.flops, formula.flops, "FLOPs");
  same(counted.tensor, formula.tensor, "tensor FLOPs");
}

inline const char* name(shim::Schedule s) {
  return s == shim::Schedule::Ascending ? "ascending" : s == shim::Schedule::Descending ? "descending" : "random";
}
inline const shim::Schedule SCHEDULES[3] = {shim::Schedule::Descending, shim::Schedule::Ascending, shim::Schedule::Random};

class Random {
 public:
  explicit Random(u64 seed) : engine_(seed) {}
  double normal() { return normal_(engine_); }
  i32 below(i32 n) { return (i32)(engine_() % n); }
  // Halves of a normal distribution, aligned as the kernels want them.
  std::vector<u16> halves(size_t count, double deviation, double mean = 0) {
    std::vector<u16> v(count + 8);
    for (u16& x : v) x = shim::to_half((float)(mean + deviation * normal()));
    return v;
  }
  std::vector<float> floats(size_t count, double deviation, double mean = 0) {
    std::vector<float> v(count + 4);
    for (float& x : v) x = (float)(mean + deviation * normal());
    return v;
  }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

inline double value(u16 h) { return shim::from_half(h); }

// Distance between what was computed and what is right.
struct Error {
  double difference = 0, norm = 0, largest = 0;
  bool finite = true;
  void add(double got, double right) {
    finite = finite && std::isfinite(got);
    difference += (got - right) * (got - right);
    norm += right * right;
    largest = std::max(largest, std::fabs(got - right));
  }
  double relative() const { return std::sqrt(difference / std::max(norm, 1e-300)); }
};

// Relative positions of a checkpoint, from the definition in double precision.
struct Distances {
  i32 buckets, most;  // B, 0 for none, and M
  i32 span() const { return buckets > 0 ? buckets : most; }
  i32 slot(i32 distance) const {
    i32 bucket = distance;
    const i32 middle = buckets / 2, r = std::abs(distance);
    if (buckets > 0 && r > middle) {
      const double steps = std::ceil(std::log(r / (double)middle) / std::log((most - 1) / (double)middle) * (middle - 1));
      bucket = ((i32)steps + middle) * (distance < 0 ? -1 : 1);
    }
    return std::max(0, std::min(2 * span() - 1, bucket + span()));
  }
  // Up to here a distance has its slot alone.
  i32 linear() const { return buckets > 0 ? buckets / 2 : most - 1; }
  // From here on the slot no longer changes.
  i32 saturates() const { return most + 1; }
};

// A batch of packed sequences as the kernels read it.
struct Packed {
  std::vector<i32> lengths, cu, tiles, positions;
  i32 n_tiles = 0, tokens = 0, longest = 0;
  explicit Packed(const std::vector<i32>& l) : lengths(l) {
    std::sort(lengths.begin(), lengths.end(), std::greater<i32>());
    cu.push_back(0);
    for (size_t s = 0; s < lengths.size(); s++) {
      cu.push_back(cu.back() + lengths[s]);
      for (i32 i = 0; i < lengths[s]; i++) positions.push_back(i);
      for (i32 q = 0; q < lengths[s]; q += 64) {
        tiles.push_back((i32)s);
        tiles.push_back(q);
      }
      longest = std::max(longest, lengths[s]);
    }
    tokens = cu.back();
    n_tiles = (i32)tiles.size() / 2;
  }
  i32 window() const { return (longest + 63) / 64 * 64; }
};

// Slots that a launch over sequences of up to `window` tokens needs.
struct SlotWindow {
  i32 first, slots, reach;
  std::vector<u16> table;  // slots of -(reach - 1) to reach - 1
  SlotWindow(const Distances& distances, i32 window) {
    reach = std::min(window, distances.saturates());
    first = distances.slot(-(window - 1));
    slots = distances.slot(window - 1) - first + 1;
    for (i32 d = -(reach - 1); d < reach; d++) table.push_back(distances.slot(d));
  }
  const u16* zero() const { return table.data() + reach - 1; }
};

// Lengths 1 to 130, each batch with short and long ones.
inline std::vector<std::vector<i32>> all_short_lengths() {
  std::vector<std::vector<i32>> batches(10);
  for (i32 l = 1; l <= 130; l++) batches[l % 10].push_back(l);
  return batches;
}
// `count` lengths up to 700 in batches of four, the longest among them.
inline std::vector<std::vector<i32>> sampled_lengths(i32 count) {
  Random random(40);
  std::vector<std::vector<i32>> batches;
  for (i32 i = 0; i < count; i++) {
    if (i % 4 == 0) batches.emplace_back();
    batches.back().push_back(i == 0 ? 700 : 1 + random.below(700));
  }
  return batches;
}

inline i32 finished(const char* what) {
  printf("%s: %s\n", what, failures ? "FAILED" : "ok");
  return failures ? 1 : 0;
}

}  // namespace check
