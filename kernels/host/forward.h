// A whole forward pass with every kernel of this folder, and the products on the CPU, with halves in and f32 sums, as the library
// gives them. The engine launches the same but for one thing: it has no table of normed embeddings (embed.cu says why), and what
// it launches is run by its own tests.
#pragma once
#include "../kernels.cu"
#include "checkpoint.h"

class Forward {
 public:
  struct Options {
    bool wide = false;        // the residual stream in f32, for a batch that left the range of halves
    bool whole_last = false;  // every token through the last layer, for the mean; else the first tokens only
    shim::Schedule schedule = shim::Schedule::Ascending;
  };
  u32 not_finite = 0;
  std::vector<float> mean;  // [sequences][hidden] after `whole_last`

  explicit Forward(const Checkpoint& model) : m_(model) {
    round_weights();
    words_ = halves(m_.words.data);
    if (m_.has_positions()) positions_ = halves(m_.positions.data);
    if (m_.has_types()) types_ = halves(m_.types.data);
    for (const Layer& l : m_.layers) {
      pk_.push_back(table(l.pk));
      pq_.push_back(table(l.pq));
    }
    // The normed embedding of every id, where it depends on the id alone.
    if (!m_.has_positions() && !m_.has_types()) {
      std::vector<i32> ids(m_.vocabulary);
      for (i32 i = 0; i < m_.vocabulary; i++) ids[i] = i;
      embedded_ = embed(ids, {}, {}, m_.vocabulary, nullptr);
    }
  }

  // Logits of a batch, [sequences][labels]. `batch` is sorted; `ids` and `types` are packed in its order.
  std::vector<float> run(const check::Packed& batch, const std::vector<i32>& ids, const std::vector<i32>& types, Options options) {
    options_ = options;
    const check::SlotWindow window(m_.distances, batch.window());
    const i32 sequences = (i32)batch.lengths.size(), tokens = batch.tokens;
    std::vector<u16> x;
    if (embedded_.empty()) {
      x = embed(ids, batch.positions, types, tokens, options_.wide ? &x32_ : nullptr);
    } else {
      x = gather(embedded_, ids, m_.hidden);
      x32_.assign(x.size(), 0);
      for (size_t i = 0; i < x.size(); i++) x32_[i] = shim::from_half(x[i]);
    }
    const std::vector<u16> input = x;
    bool selected = false;
    for (i32 n = 0; n < m_.layer_count; n++) {
      const Layer& layer = m_.layers[n];
      selected = n + 1 == m_.layer_count && !options_.whole_last;
      std::vector<u16> context = selected ? attend_first(layer, n, batch, window, x) : attend(layer, n, batch, window, x);
      x = after_attention(layer, context, x, selected ? sequences : tokens);
      if (n == 0 && m_.taps) convolve(batch, input, x, selected);
    }
    if (!selected) mean_of(batch, x);
    return head(selected ? x : gather(x, std::vector<i32>(batch.cu.begin(), batch.cu.end() - 1), m_.hidden), sequences);
  }

 private:
  // The library's products read weights and biases as halves, whatever the checkpoint has; the tables above them are made in full
  // precision.
  void round_weights() {
    auto round = [](std::vector<float>& v) {
      for (float& x : v) x = shim::from_half(shim::to_half(x));
    };
    for (Layer& l : m_.layers)
      for (Linear* p : {&l.query, &l.key, &l.value, &l.attention_out, &l.inner, &l.outer}) {
        round(p->transposed);
        round(p->bias);
      }
    round(m_.conv.transposed);
  }
  static std::vector<u16> halves(const std::vector<float>& from) {
    std::vector<u16> out(from.size() + 8);
    for (size_t i = 0; i < from.size(); i++) out[i] = shim::to_half(from[i]);
    return out;
  }
  // [slots][heads * d] to [heads][slots][d], scaled.
  std::vector<u16> table(const std::vector<double>& rows) const {
    const i32 slots = 2 * m_.distances.span();
    std::vector<u16> out(rows.size() + 8);
    for (i32 h = 0; h < m_.heads; h++)
      for (i32 s = 0; s < slots; s++)
        for (i32 c = 0; c < m_.d; c++) out[((size_t)h * slots + s) * m_.d + c] = shim::to_half((float)(rows[((size_t)s * m_.heads + h) * m_.d + c] * m_.scale * check::LOG2E));
    return out;
  }
  template <class Kernel> void launch(i64 grid_x, i32 grid_y, i32 threads, size_t shared, Kernel kernel) const { shim::launch({(i32)grid_x, grid_y, threads, shared, options_.schedule, 3}, kernel); }
  static i64 blocks(i64 rows, i64 each) { return (rows + each - 1) / each; }
  // The inputs of a product are halves; each is read as f32.
  static std::vector<float> multiply(const Linear& l, const std::vector<u16>& x, i64 rows, bool bias = true) {
    std::vector<float> in(rows * l.in);
    for (size_t i = 0; i < in.size(); i++) in[i] = shim::from_half(x[i]);
    return product<float>(l, in.data(), rows, bias);
  }
  std::vector<u16> gather(const std::vector<u16>& from, const std::vector<i32>& index, i32 width) const {
    const i32 rows = (i32)index.size();
    std::vector<u16> out((size_t)rows * width + 8);
    launch(blocks(rows, ROW_WARPS), 1, ROW_THREADS, 0, [&] { gather_rows({from.data(), index.data(), out.data(), rows, width}); });
    return out;
  }
  std::vector<u16> embed(const std::vector<i32>& ids, const std::vector<i32>& place, const std::vector<i32>& type, i32 rows, std::vector<float>* wide) const {
    std::vector<u16> out((size_t)rows * m_.hidden + 8);
    if (wide) wide->assign(out.size(), 0);
    const auto gain = halves(m_.embed_norm.gain), offset = halves(m_.embed_norm.offset);
    EmbedArgs a{words_.data(), m_.has_positions() ? positions_.data() : nullptr, m_.has_types() ? types_.data() : nullptr, ids.data(), place.data(), type.data(), gain.data(), offset.data(), out.data(), wide ? wide->data() : nullptr, rows, m_.hidden, (float)m_.eps};
    launch(blocks(rows, ROW_WARPS), 1, ROW_THREADS, 0, [&] { m_.hidden <= 512 ? embed_norm_512(a) : m_.hidden <= 1024 ? embed_norm_1024(a) : embed_norm_2048(a); });
    return out;
  }
  std::vector<u16> attend(const Layer& layer, i32 n, const check::Packed& batch, const check::SlotWindow& window, const std::vector<u16>& x) const {
    const i32 width = m_.heads * m_.d, tokens = batch.tokens;
    std::vector<u16> qkv((size_t)tokens * 3 * width + 8), out((size_t)tokens * width + 8);
    const Linear* parts[3] = {&layer.query, &layer.key, &layer.value};
    for (i32 part = 0; part < 3; part++) {
      const auto y = multiply(*parts[part], x, tokens);
      for (i64 t = 0; t < tokens; t++)
        for (i32 c = 0; c < width; c++) qkv[(t * 3 + part) * width + c] = shim::to_half(y[t * width + c]);
    }
    DisentangledArgs a{qkv.data(), pk_[n].data(), pq_[n].data(), window.zero(), out.data(), batch.cu.data(), batch.tiles.data(), &batch.n_tiles, m_.heads, 2 * m_.distances.span(), window.first, window.slots, window.reach, m_.distances.linear(), 2, (float)(m_.scale * check::LOG2E)};
    // Both variants in turn; the streaming one with a single stage.
    const bool resident = n % 2 == 0;
    a.stages = resident ? 2 : 1;
    const i32 groups = resident && batch.longest <= 128 ? 3 : 1;
    const size_t shared = disentangled_layout(m_.d, resident, a.slots, a.reach, a.stages, groups).bytes;
    launch(2, m_.heads, GROUP_THREADS * groups, shared, [&] {
      if (m_.d == 64) resident ? attention_disentangled_d64_resident(a) : attention_disentangled_d64_streaming(a);
      else resident ? attention_disentangled_d32_resident(a) : attention_disentangled_d32_streaming(a);
    });
    return out;
  }
  // The last layer for the first tokens only: keys and values of all, queries of the first. `x` becomes the first tokens' rows.
  std::vector<u16> attend_first(const Layer& layer, i32 n, const check::Packed& batch, const check::SlotWindow& window, std::vector<u16>& x) {
    const i32 sequences = (i32)batch.lengths.size();
    const auto to_halves = [](const std::vector<float>& v) { return halves(v); };
    const auto k = to_halves(multiply(layer.key, x, batch.tokens)), v = to_halves(multiply(layer.value, x, batch.tokens));
    std::vector<float> wide;
    for (i32 s = 0; s < sequences && options_.wide; s++) wide.insert(wide.end(), x32_.begin() + (size_t)batch.cu[s] * m_.hidden, x32_.begin() + (size_t)(batch.cu[s] + 1) * m_.hidden);
    if (options_.wide) x32_ = wide;
    x = gather(x, std::vector<i32>(batch.cu.begin(), batch.cu.end() - 1), m_.hidden);
    const auto q = to_halves(multiply(layer.query, x, sequences));
    std::vector<u16> out((size_t)sequences * m_.heads * m_.d + 8);
    ClsArgs a{q.data(), k.data(), v.data(), pk_[n].data(), pq_[n].data(), window.zero(), nullptr, out.data(), batch.cu.data(), m_.heads, m_.heads * m_.d, 2 * m_.distances.span(), window.reach, 0, (float)(m_.scale * check::LOG2E)};
    launch(sequences, m_.heads, CLS_THREADS, CLS_SHARED_BYTES, [&] { m_.d == 64 ? attention_cls_disentangled_d64(a) : attention_cls_disentangled_d32(a); });
    return out;
  }
  // LayerNorm(y + residual), where y comes from a product.
  std::vector<u16> add_norm_rows(const std::vector<float>& y, const std::vector<u16>& residual, const Norm& norm, i32 rows) {
    const auto gain = halves(norm.gain), offset = halves(norm.offset);
    std::vector<u16> out((size_t)rows * m_.hidden + 8);
    if (options_.wide) {
      std::vector<float> in = y, wide(out.size());
      in.resize(in.size() + 4);
      NormArgs<float> a{in.data(), x32_.data(), gain.data(), offset.data(), out.data(), wide.data(), rows, m_.hidden, (float)m_.eps};
      launch(blocks(rows, ROW_WARPS), 1, ROW_THREADS, 0, [&] { m_.hidden <= 512 ? add_norm_f32_512(a) : m_.hidden <= 1024 ? add_norm_f32_1024(a) : add_norm_f32_2048(a); });
      x32_ = wide;
    } else {
      const auto in = halves(y);
      NormArgs<u16> a{in.data(), residual.data(), gain.data(), offset.data(), out.data(), nullptr, rows, m_.hidden, (float)m_.eps};
      launch(blocks(rows, ROW_WARPS), 1, ROW_THREADS, 0, [&] { m_.hidden <= 512 ? add_norm_512(a) : m_.hidden <= 1024 ? add_norm_1024(a) : add_norm_2048(a); });
    }
    return out;
  }
  std::vector<u16> after_attention(const Layer& layer, const std::vector<u16>& context, const std::vector<u16>& x, i32 rows) {
    const auto attended = add_norm_rows(multiply(layer.attention_out, context, rows), x, layer.attention_norm, rows);
    auto wide = halves(multiply(layer.inner, attended, rows, false));
    activate_rows(wide, layer.inner.bias, rows, m_.inner, ACT_GELU);
    return add_norm_rows(multiply(layer.outer, wide, rows), attended, layer.out_norm, rows);
  }
  void activate_rows(std::vector<u16>& x, const std::vector<float>& bias, i32 rows, i32 width, i32 function) const {
    const auto b = halves(bias);
    ActivationArgs a{x.data(), b.data(), rows, width};
    launch(blocks((i64)rows * width / 8, ACTIVATION_THREADS), 1, ACTIVATION_THREADS, 0, [&] { function == ACT_TANH ? bias_tanh(a) : bias_gelu(a); });
  }
  void convolve(const check::Packed& batch, const std::vector<u16>& input, std::vector<u16>& x, bool selected) {
    const i32 rows = batch.tokens;
    std::vector<u16> windows((size_t)rows * m_.taps * m_.hidden + 8);
    launch(blocks(rows, ROW_WARPS), m_.taps, ROW_THREADS, 0, [&] { conv_unfold({input.data(), batch.positions.data(), windows.data(), rows, m_.hidden, m_.taps}); });
    auto y = halves(multiply(m_.conv, windows, rows, false));
    activate_rows(y, m_.conv.bias, rows, m_.hidden, m_.conv_tanh ? ACT_TANH : ACT_GELU);
    if (selected) y = gather(y, std::vector<i32>(batch.cu.begin(), batch.cu.end() - 1), m_.hidden);
    std::vector<float> convolved(selected ? batch.lengths.size() * m_.hidden : (size_t)rows * m_.hidden);
    for (size_t i = 0; i < convolved.size(); i++) convolved[i] = shim::from_half(y[i]);
    x = add_norm_rows(convolved, x, m_.conv_norm, (i32)(convolved.size() / m_.hidden));
  }
  void mean_of(const check::Packed& batch, const std::vector<u16>& x) {
    mean.assign(batch.lengths.size() * m_.hidden, NAN);
    launch((i64)batch.lengths.size(), (i32)blocks(m_.hidden, 256), MEAN_THREADS, MEAN_SHARED_BYTES, [&] { mean_pool({x.data(), batch.cu.data(), mean.data(), m_.hidden}); });
  }
  std::vector<float> head(const std::vector<u16>& first, i32 sequences) {
    auto rows = [](const Linear& l) {
      std::vector<u16> w(l.transposed.size() + 8);
      for (i32 o = 0; o < l.out; o++)
        for (i32 i = 0; i < l.in; i++) w[(size_t)o * l.in + i] = shim::to_half(l.transposed[(size_t)i * l.out + o]);
      return w;
    };
    const auto weight = rows(m_.pooler), bias = halves(m_.pooler.bias), out_weight = rows(m_.classifier), out_bias = halves(m_.classifier.bias);
    std::vector<float> pooled((size_t)sequences * m_.hidden + 4), logits((size_t)sequences * m_.classifier.out);
    launch(blocks(m_.hidden, ROW_WARPS), (i32)blocks(sequences, POOLER_ROWS), ROW_THREADS, 0, [&] { ::pooler({first.data(), weight.data(), bias.data(), pooled.data(), sequences, m_.hidden, ACT_GELU}); });
    launch(blocks(m_.classifier.out, ROW_WARPS), sequences, ROW_THREADS, 0, [&] { ::classifier({pooled.data(), out_weight.data(), out_bias.data(), logits.data(), &not_finite, m_.classifier.out, m_.hidden}); });
    return logits;
  }

  Checkpoint m_;
  Options options_;
  std::vector<u16> words_, positions_, types_, embedded_;
  std::vector<std::vector<u16>> pk_, pq_;
  std::vector<float> x32_;
};
