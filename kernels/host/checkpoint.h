// A DeBERTa-v2 checkpoint for the host run, and its forward pass in double precision.
#pragma once
#include <filesystem>

#include "check.h"
#include "json.h"

struct Tensor {
  std::vector<i64> shape;
  std::vector<float> data;
};

struct Linear {
  i32 out = 0, in = 0;
  std::vector<float> transposed;  // [in][out]
  std::vector<float> bias;
};
struct Norm {
  std::vector<float> gain, offset;
};
struct Layer {
  Linear query, key, value, attention_out, inner, outer;
  Norm attention_norm, out_norm;
  std::vector<double> pk, pq;  // [2 span][heads * d], not scaled
};

// y = x W + b for rows of x, or without b; accumulates in `Number`.
template <class Number, class Input> std::vector<Number> product(const Linear& l, const Input* x, i64 rows, bool bias = true) {
  std::vector<Number> out(rows * l.out);
  constexpr i32 ROWS = 6, COLUMNS = 16;
  for (i32 n0 = 0; n0 < l.out; n0 += COLUMNS)
    for (i64 r0 = 0; r0 < rows; r0 += ROWS) {
      const i32 columns = std::min(COLUMNS, l.out - n0), count = (i32)std::min<i64>(ROWS, rows - r0);
      Number sums[ROWS][COLUMNS] = {};
      for (i32 k = 0; k < l.in; k++) {
        const float* w = &l.transposed[(size_t)k * l.out + n0];
        if (count == ROWS && columns == COLUMNS) {
          for (i32 r = 0; r < ROWS; r++) {
            const Number v = x[(r0 + r) * l.in + k];
            for (i32 n = 0; n < COLUMNS; n++) sums[r][n] += v * (Number)w[n];
          }
        } else {
          for (i32 r = 0; r < count; r++)
            for (i32 n = 0; n < columns; n++) sums[r][n] += (Number)x[(r0 + r) * l.in + k] * (Number)w[n];
        }
      }
      for (i32 r = 0; r < count; r++)
        for (i32 n = 0; n < columns; n++) out[(r0 + r) * l.out + n0 + n] = sums[r][n] + (bias ? (Number)l.bias[n0 + n] : 0);
    }
  return out;
}

struct Checkpoint {
  std::string name;
  i32 hidden, heads, d, inner, layer_count, vocabulary, taps = 0;
  check::Distances distances;
  double scale, eps;
  bool conv_tanh = false;
  std::map<std::string, Tensor> tensors;
  std::vector<Layer> layers;
  Linear pooler, classifier, conv;
  Norm embed_norm, conv_norm;
  Tensor words, positions, types;  // positions and types empty where the layout has none

  bool has_positions() const { return !positions.data.empty(); }
  bool has_types() const { return !types.data.empty(); }

  explicit Checkpoint(const std::string& folder) : name(std::filesystem::path(folder).filename().string()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      if (file.rfind("model", 0) == 0 && entry.path().extension() == ".safetensors") load(entry.path().string());
    }
    configure(read_json(folder + "/config.json"));
    assemble();
  }

 private:
  void load(const std::string& path) {
    const std::string file = read_file(path);
    u64 length;
    memcpy(&length, file.data(), 8);
    const std::string text = file.substr(8, length);
    const Json header = JsonReader(text).read();
    for (const auto& [key, entry] : header.object) {
      if (key == "__metadata__") continue;
      Tensor t;
      i64 count = 1;
      for (const Json& n : entry["shape"].list) {
        t.shape.push_back((i64)n.number);
        count *= t.shape.back();
      }
      const char* from = file.data() + 8 + length + (i64)entry["data_offsets"].list[0].number;
      const std::string& type = entry["dtype"].text;
      for (i64 i = 0; i < count; i++) {
        u16 h = 0;
        float f = 0;
        u32 bits = 0;
        if (type == "F32") memcpy(&f, from + 4 * i, 4);
        else memcpy(&h, from + 2 * i, 2);
        if (type == "F16") f = shim::from_half(h);
        if (type == "BF16") {
          bits = (u32)h << 16;
          memcpy(&f, &bits, 4);
        }
        t.data.push_back(f);
      }
      tensors[key] = std::move(t);
    }
  }
  void configure(const Json& c) {
    hidden = (i32)c["hidden_size"].number;
    heads = (i32)c["num_attention_heads"].number;
    d = (i32)c.number_or("attention_head_size", hidden / heads);
    inner = (i32)c["intermediate_size"].number;
    layer_count = (i32)c["num_hidden_layers"].number;
    vocabulary = (i32)c["vocab_size"].number;
    eps = c["layer_norm_eps"].number;
    taps = (i32)c.number_or("conv_kernel_size", 0);
    conv_tanh = c.text_or("conv_act", "tanh") == "tanh";
    i32 most = (i32)c.number_or("max_relative_positions", -1);
    if (most < 1) most = (i32)c["max_position_embeddings"].number;
    distances = {std::max(0, (i32)c.number_or("position_buckets", -1)), most};
    scale = 1 / std::sqrt(3.0 * d);
    norm_rel_ = c.text_or("norm_rel_ebd", "none").find("layer_norm") != std::string::npos;
    shared_ = c.truth_or("share_att_key", false);
    if (c.truth_or("position_biased_input", true)) positions = get("deberta.embeddings.position_embeddings.weight");
    if (c.number_or("type_vocab_size", 0) > 0) types = get("deberta.embeddings.token_type_embeddings.weight");
  }
  const Tensor& get(const std::string& key) const {
    if (!tensors.count(key)) throw std::runtime_error("no tensor " + key);
    return tensors.at(key);
  }
  Linear linear(const std::string& key) const {
    const Tensor& w = get(key + ".weight");
    Linear l;
    l.out = (i32)w.shape[0];
    l.in = (i32)w.shape[1];
    l.bias = get(key + ".bias").data;
    l.transposed.resize(w.data.size());
    for (i32 o = 0; o < l.out; o++)
      for (i32 i = 0; i < l.in; i++) l.transposed[(size_t)i * l.out + o] = w.data[(size_t)o * l.in + i];
    return l;
  }
  Norm norm(const std::string& key) const { return {get(key + ".weight").data, get(key + ".bias").data}; }
  void assemble() {
    words = get("deberta.embeddings.word_embeddings.weight");
    embed_norm = norm("deberta.embeddings.LayerNorm");
    std::vector<double> rel(get("deberta.encoder.rel_embeddings.weight").data.begin(), get("deberta.encoder.rel_embeddings.weight").data.end());
    if (norm_rel_) normalise(rel, norm("deberta.encoder.LayerNorm"));
    for (i32 n = 0; n < layer_count; n++) {
      const std::string at = "deberta.encoder.layer." + std::to_string(n) + ".", self = at + "attention.self.";
      Layer l{linear(self + "query_proj"), linear(self + "key_proj"), linear(self + "value_proj"), linear(at + "attention.output.dense"), linear(at + "intermediate.dense"), linear(at + "output.dense"), norm(at + "attention.output.LayerNorm"), norm(at + "output.LayerNorm"), {}, {}};
      l.pk = product<double>(shared_ ? l.key : linear(self + "pos_key_proj"), rel.data(), 2 * distances.span());
      l.pq = product<double>(shared_ ? l.query : linear(self + "pos_query_proj"), rel.data(), 2 * distances.span());
      layers.push_back(std::move(l));
    }
    if (taps) {
      const Tensor& w = get("deberta.encoder.conv.conv.weight");
      conv = {hidden, taps * hidden, std::vector<float>(w.data.size()), get("deberta.encoder.conv.conv.bias").data};
      for (i32 o = 0; o < hidden; o++)
        for (i32 i = 0; i < hidden; i++)
          for (i32 k = 0; k < taps; k++) conv.transposed[((size_t)k * hidden + i) * hidden + o] = w.data[((size_t)o * hidden + i) * taps + k];
      conv_norm = norm("deberta.encoder.conv.LayerNorm");
    }
    pooler = linear("pooler.dense");
    classifier = linear("classifier");
  }

 public:
  void normalise(std::vector<double>& x, const Norm& n) const {
    const size_t width = n.gain.size();
    for (size_t r = 0; r < x.size(); r += width) {
      double mean = 0, variance = 0;
      for (size_t i = 0; i < width; i++) mean += x[r + i] / width;
      for (size_t i = 0; i < width; i++) variance += (x[r + i] - mean) * (x[r + i] - mean) / width;
      for (size_t i = 0; i < width; i++) x[r + i] = (x[r + i] - mean) / std::sqrt(variance + eps) * n.gain[i] + n.offset[i];
    }
  }
  // Logits of one pair by the definition.
  std::vector<double> exact_logits(const std::vector<i32>& ids, const std::vector<i32>& type) const {
    const i64 n = (i64)ids.size();
    std::vector<double> x(n * hidden);
    for (i64 t = 0; t < n; t++)
      for (i32 i = 0; i < hidden; i++)
        x[t * hidden + i] = words.data[(size_t)ids[t] * hidden + i] + (has_positions() ? positions.data[t * hidden + i] : 0.0) + (has_types() ? types.data[type[t] * hidden + i] : 0.0);
    normalise(x, embed_norm);
    const std::vector<double> input = x;
    for (i32 l = 0; l < layer_count; l++) {
      const Layer& layer = layers[l];
      auto attended = product<double>(layer.attention_out, attend(layer, x, n).data(), n);
      for (size_t i = 0; i < x.size(); i++) attended[i] += x[i];
      normalise(attended, layer.attention_norm);
      auto wide = product<double>(layer.inner, attended.data(), n);
      for (double& v : wide) v *= 0.5 * std::erfc(-v / std::sqrt(2.0));
      x = product<double>(layer.outer, wide.data(), n);
      for (size_t i = 0; i < x.size(); i++) x[i] += attended[i];
      normalise(x, layer.out_norm);
      if (l == 0 && taps) convolve(x, input, n);
    }
    auto pooled = product<double>(pooler, x.data(), 1);
    for (double& v : pooled) v *= 0.5 * std::erfc(-v / std::sqrt(2.0));
    return product<double>(classifier, pooled.data(), 1);
  }

 private:
  std::vector<double> attend(const Layer& layer, const std::vector<double>& x, i64 n) const {
    const auto q = product<double>(layer.query, x.data(), n), k = product<double>(layer.key, x.data(), n), v = product<double>(layer.value, x.data(), n);
    const i32 width = heads * d;
    std::vector<double> out(n * width), scores(n);
    auto dot = [&](const double* a, const double* b) {
      double sum = 0;
      for (i32 i = 0; i < d; i++) sum += a[i] * b[i];
      return sum;
    };
    for (i32 h = 0; h < heads; h++)
      for (i64 i = 0; i < n; i++) {
        double top = -1e300, total = 0;
        for (i64 j = 0; j < n; j++) {
          const size_t slot = (size_t)distances.slot((i32)(i - j)) * width + h * d;
          const double *query = &q[i * width + h * d], *key = &k[j * width + h * d];
          scores[j] = (dot(query, key) + dot(query, &layer.pk[slot]) + dot(key, &layer.pq[slot])) * scale;
          top = std::max(top, scores[j]);
        }
        for (double& s : scores) total += s = std::exp(s - top);
        for (i64 j = 0; j < n; j++)
          for (i32 c = 0; c < d; c++) out[i * width + h * d + c] += scores[j] / total * v[j * width + h * d + c];
      }
    return out;
  }
  void convolve(std::vector<double>& x, const std::vector<double>& input, i64 n) const {
    std::vector<double> windows(n * taps * hidden);
    for (i64 t = 0; t < n; t++)
      for (i32 k = 0; k < taps; k++) {
        const i64 from = t + k - taps / 2;
        if (from >= 0 && from < n) std::copy_n(&input[from * hidden], hidden, &windows[(t * taps + k) * hidden]);
      }
    auto y = product<double>(conv, windows.data(), n);
    for (size_t i = 0; i < x.size(); i++) x[i] += conv_tanh ? std::tanh(y[i]) : y[i] * 0.5 * std::erfc(-y[i] / std::sqrt(2.0));
    normalise(x, conv_norm);
  }
  bool norm_rel_ = false, shared_ = false;
};
