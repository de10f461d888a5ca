// Whole models through the kernels against their golden logits.
//
//   forward_check ROOT ci      the small checkpoints and some pairs of groundline-mini
//   forward_check ROOT full    500 pairs of groundline-mini too: its golden pairs, and premises with other hypotheses, whose logits
//                              the double-precision pass gives after it has agreed with the golden ones
#include "forward.h"

// How far a logit may be from the golden one.
static const double MOST_DIFFERENCE = 2e-2;
// How far the double-precision pass may be from it: the golden ones were computed in f32.
static const double MOST_EXACT_DIFFERENCE = 2e-3;
static const size_t BATCH = 8;
static const i32 SEPARATOR = 102;  // of groundline-mini's tokenizer

struct Pair {
  std::vector<i32> ids, types;
  std::vector<double> logits, mean;
};

struct Tally {
  size_t pairs = 0, flipped = 0, flipped_clearly = 0;
  double worst = 0;
};

static std::vector<double> numbers(const Json& list) {
  std::vector<double> out;
  for (const Json& j : list.list) out.push_back(j.number);
  return out;
}
static std::vector<i32> integers(const Json& list) {
  std::vector<i32> out;
  for (const Json& j : list.list) out.push_back((i32)j.number);
  return out;
}

// [CLS] premise [SEP] hypothesis [SEP]: types are 1 from the first separator on.
static std::vector<i32> types_of(const std::vector<i32>& ids) {
  const size_t first = std::find(ids.begin(), ids.end(), SEPARATOR) - ids.begin() + 1;
  std::vector<i32> types(ids.size(), 0);
  for (size_t i = first; i < ids.size(); i++) types[i] = 1;
  return types;
}

static void compare(const std::string& name, const Pair& pair, const float* got, Tally& tally) {
  std::vector<double> sorted = pair.logits;
  std::sort(sorted.begin(), sorted.end(), std::greater<double>());
  const size_t right = std::max_element(pair.logits.begin(), pair.logits.end()) - pair.logits.begin();
  const size_t found = std::max_element(got, got + pair.logits.size()) - got;
  tally.pairs++;
  tally.flipped += found != right;
  tally.flipped_clearly += found != right && sorted[0] - sorted[1] >= MOST_DIFFERENCE;
  for (size_t i = 0; i < pair.logits.size(); i++) {
    const double difference = std::fabs(got[i] - pair.logits[i]);
    tally.worst = std::max(tally.worst, difference);
    check::expect(difference <= MOST_DIFFERENCE, name + ", " + std::to_string(pair.ids.size()) + " tokens: logit " + std::to_string(got[i]) + " for " + std::to_string(pair.logits[i]));
  }
}

// Runs pairs in batches of mixed lengths.
static Tally run(Forward& forward, const std::string& name, const std::vector<Pair>& pairs, Forward::Options options) {
  Tally tally;
  for (size_t from = 0; from < pairs.size(); from += BATCH) {
    std::vector<const Pair*> batch;
    for (size_t i = from; i < std::min(from + BATCH, pairs.size()); i++) batch.push_back(&pairs[i]);
    std::stable_sort(batch.begin(), batch.end(), [](const Pair* a, const Pair* b) { return a->ids.size() > b->ids.size(); });
    std::vector<i32> lengths, ids, types;
    for (const Pair* p : batch) {
      lengths.push_back((i32)p->ids.size());
      ids.insert(ids.end(), p->ids.begin(), p->ids.end());
      types.insert(types.end(), p->types.begin(), p->types.end());
    }
    options.schedule = check::SCHEDULES[from / BATCH % 3];
    const check::Packed packed(lengths);
    const auto logits = forward.run(packed, ids, types, options);
    const size_t labels = batch[0]->logits.size();
    for (size_t i = 0; i < batch.size(); i++) {
      compare(name, *batch[i], &logits[i * labels], tally);
      for (size_t c = 0; options.whole_last && c < batch[i]->mean.size(); c++) {
        const double difference = std::fabs(forward.mean[i * forward.mean.size() / batch.size() + c] - batch[i]->mean[c]);
        check::expect(difference <= MOST_DIFFERENCE, name + ": a mean differs by " + std::to_string(difference));
      }
    }
  }
  check::expect(forward.not_finite == 0, name + ": " + std::to_string(forward.not_finite) + " logits are not finite");
  printf("%-28s %4zu pairs, worst logit difference %.2e, %zu decisions flipped\n", name.c_str(), tally.pairs, tally.worst, tally.flipped);
  fflush(stdout);
  return tally;
}

static void check_small(const std::string& root, const std::string& name) {
  const std::string folder = root + "/tests/golden/checkpoints/" + name;
  const Checkpoint model(folder);
  std::vector<Pair> pairs;
  const Json golden = read_json(folder + "/golden.json");
  for (const Json& c : golden["cases"].list) pairs.push_back({integers(c["input_ids"]), integers(c["token_type_ids"]), numbers(c["logits"]), c.has("mean_hidden") ? numbers(c["mean_hidden"]) : std::vector<double>()});
  Forward forward(model);
  run(forward, name, pairs, {});
  pairs.resize(std::min<size_t>(pairs.size(), 4));
  run(forward, name + ", f32 residual", pairs, {.wide = true});
  run(forward, name + ", mean", pairs, {.whole_last = true});
}

static void check_exact(const Checkpoint& model, const std::vector<Pair>& pairs) {
  double worst = 0;
  for (const Pair& p : pairs) {
    const auto exact = model.exact_logits(p.ids, p.types);
    for (size_t i = 0; i < exact.size(); i++) worst = std::max(worst, std::fabs(exact[i] - p.logits[i]));
  }
  check::expect(worst <= MOST_EXACT_DIFFERENCE, "the double-precision pass is " + std::to_string(worst) + " from the golden logits");
}

static void check_mini(const std::string& root, size_t wanted) {
  const std::string folder = root + "/models/groundline-mini";
  const Checkpoint model(folder);
  std::vector<Pair> pairs;
  const Json tokens = read_json(root + "/kernels/host/mini_tokens.json"), golden = read_json(folder + "/golden.json");
  for (size_t i = 0; i < tokens.list.size(); i++) {
    const auto ids = integers(tokens.list[i]);
    pairs.push_back({ids, types_of(ids), numbers(golden["cases"].list.at(i)["logits"]), {}});
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.ids.size() < b.ids.size(); });
  const bool whole = wanted > pairs.size();
  // Of the golden pairs some short, some of every length but the longest; all of them where there is time.
  std::vector<Pair> chosen;
  for (size_t i = 0; i < pairs.size(); i++)
    if (whole || (i % 4 == 1 && chosen.size() < wanted)) chosen.push_back(pairs[i]);
  check_exact(model, whole ? pairs : std::vector<Pair>(chosen.begin(), chosen.begin() + 3));
  check::Random random(12);
  while (whole && chosen.size() < wanted) {
    const auto &a = pairs[random.below((i32)pairs.size())].ids, &b = pairs[random.below((i32)pairs.size())].ids;
    std::vector<i32> ids(a.begin(), std::find(a.begin(), a.end(), SEPARATOR) + 1);
    ids.insert(ids.end(), std::find(b.begin(), b.end(), SEPARATOR) + 1, b.end());
    if (ids.size() > 160) continue;
    Pair p{ids, types_of(ids), {}, {}};
    p.logits = model.exact_logits(p.ids, p.types);
    chosen.push_back(p);
  }
  Forward forward(model);
  const Tally tally = run(forward, "groundline-mini", chosen, {});
  check::expect(tally.flipped <= 1 && tally.flipped_clearly == 0, "groundline-mini: " + std::to_string(tally.flipped) + " decisions flipped, " + std::to_string(tally.flipped_clearly) + " of them clear");
  const std::vector<Pair> some(chosen.begin() + 4, chosen.begin() + 6);
  run(forward, "groundline-mini, f32 residual", some, {.wide = true});
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string root = argv[1], how = argv[2];
  for (const char* name : {"deberta-v3-like", "deberta-v3-small-buckets", "deberta-v2-conv", "deberta-v2-separate-pos"}) check_small(root, name);
  check_mini(root, how == "full" ? 500 : 9);
  return check::finished("forward");
}
