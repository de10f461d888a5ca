// As much of JSON as configurations, golden results and safetensors headers need.
#pragma once
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Json {
  enum Kind { Null, Bool, Number, Text, List, Object } kind = Null;
  bool truth = false;
  double number = 0;
  std::string text;
  std::vector<Json> list;
  std::map<std::string, Json> object;

  bool has(const std::string& key) const { return object.count(key) && object.at(key).kind != Null; }
  const Json& operator[](const std::string& key) const {
    if (!object.count(key)) throw std::runtime_error("no field " + key);
    return object.at(key);
  }
  double number_or(const std::string& key, double otherwise) const { return has(key) ? object.at(key).number : otherwise; }
  bool truth_or(const std::string& key, bool otherwise) const { return has(key) ? object.at(key).truth : otherwise; }
  std::string text_or(const std::string& key, const std::string& otherwise) const { return has(key) ? object.at(key).text : otherwise; }
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& text) : s_(text) {}
  Json read() {
    space();
    Json j;
    const char c = s_.at(at_);
    if (c == '{') {
      j.kind = Json::Object;
      for (at_++, space(); s_.at(at_) != '}'; space()) {
        const std::string key = string();
        space();
        at_++;  // the colon
        j.object[key] = read();
        comma();
      }
      at_++;
    } else if (c == '[') {
      j.kind = Json::List;
      for (at_++, space(); s_.at(at_) != ']'; space()) {
        j.list.push_back(read());
        comma();
      }
      at_++;
    } else if (c == '"') {
      j.kind = Json::Text;
      j.text = string();
    } else if (c == 't' || c == 'f') {
      j.kind = Json::Bool;
      j.truth = c == 't';
      at_ += c == 't' ? 4 : 5;
    } else if (c == 'n') {
      at_ += 4;
    } else {
      char* end;
      j.kind = Json::Number;
      j.number = strtod(s_.c_str() + at_, &end);
      if (end == s_.c_str() + at_) throw std::runtime_error("not JSON");
      at_ = end - s_.c_str();
    }
    return j;
  }

 private:
  void space() {
    while (at_ < s_.size() && (s_[at_] == ' ' || s_[at_] == '\n' || s_[at_] == '\t' || s_[at_] == '\r')) at_++;
  }
  void comma() {
    space();
    if (s_.at(at_) == ',') at_++;
  }
  // Escapes other than a quote and a backslash are kept as they stand: no key that is asked for has one.
  std::string string() {
    std::string out;
    for (at_++; s_.at(at_) != '"'; at_++) {
      if (s_[at_] == '\\') at_++;
      out += s_.at(at_);
    }
    at_++;
    return out;
  }
  const std::string& s_;
  size_t at_ = 0;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}
inline Json read_json(const std::string& path) {
  const std::string text = read_file(path);
  return JsonReader(text).read();
}
