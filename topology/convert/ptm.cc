// SPDX-License-Identifier: BSD-3-Clause
// Reads cabling plans of the Prescriptive Topology Manager (Cumulus Linux, SONiC): an undirected
// graph in Graphviz's DOT language (graphviz.org/doc/info/lang.html) with edges such as
// "leaf1":"swp1" -- "spine1":"swp1". Attributes other than `function` (host, leaf, spine...) are
// ignored.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "topology/convert/cabling.h"

namespace rocescope::topology {
namespace {

struct Token {
  enum class Kind : uint8_t { kEnd, kText, kSign, kBroken };  // signs: { } [ ] ; , = : -- ->
  Kind kind = Kind::kEnd;
  bool quoted = false;
  std::string text;
  Place place;
};

class DotScanner {
 public:
  explicit DotScanner(std::string_view text) : text_(text) {}

  Token Next() {
    SkipSpace();
    Token token;
    token.place = {.line = line_, .column = static_cast<uint32_t>(at_ - line_begin_) + 1};
    if (at_ >= text_.size()) return token;
    const char c = text_[at_];
    if (c == '"') return Quoted(std::move(token));
    const std::string_view two = text_.substr(at_, 2);
    if (two == "--" || two == "->") {
      token.kind = Token::Kind::kSign;
      token.text = two;
    } else if (std::string_view("{}[];,=:").find(c) != std::string_view::npos) {
      token.kind = Token::Kind::kSign;
      token.text = c;
    } else {
      // More lenient than DOT identifiers: many files contain leaf-1 and 10.0.0.1 without quotes.
      size_t end = at_;
      while (end < text_.size() && !EndsWord(end)) ++end;
      token.kind = end == at_ ? Token::Kind::kBroken : Token::Kind::kText;
      token.text = text_.substr(at_, std::max<size_t>(end - at_, 1));
    }
    at_ += token.text.size();
    return token;
  }

 private:
  bool EndsWord(size_t at) const {
    const char c = text_[at];
    return static_cast<unsigned char>(c) <= ' ' || c == '"' ||
           std::string_view("{}[];,=:").find(c) != std::string_view::npos ||
           text_.substr(at, 2) == "--" || text_.substr(at, 2) == "->";
  }

  Token Quoted(Token token) {
    token.quoted = true;
    token.kind = Token::Kind::kBroken;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        token.kind = Token::Kind::kText;
        break;
      }
      if (text_[at_] == '\\' && text_.substr(at_ + 1, 1) == "\"") ++at_;
      if (text_[at_] == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
      }
      token.text += text_[at_];
    }
    return token;
  }

  void SkipSpace() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const std::string_view two = text_.substr(at_, 2);
      if (c == '\n') {
        ++line_;
        line_begin_ = ++at_;
      } else if (static_cast<unsigned char>(c) <= ' ') {
        ++at_;
      } else if (two == "//" || c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (two == "/*") {
        const size_t end = std::min(text_.find("*/", at_ + 2), text_.size());
        for (; at_ < end; ++at_) {
          if (text_[at_] != '\n') continue;
          ++line_;
          line_begin_ = at_ + 1;
        }
        at_ = std::min(end + 2, text_.size());
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t line_begin_ = 0;
  uint32_t line_ = 1;
};

class PtmReader {
 public:
  PtmReader(std::string_view text, std::string_view file, const ConvertOptions& options)
      : scanner_(text), errors_(std::string(file)), options_(options) {
    Advance();
  }

  Result<Conversion> Read() {
    ReadGraph();
    if (errors_.empty() && cabling_.nodes().empty()) {
      errors_.Add(token_.place, "the graph has no nodes");
    }
    for (Cabling::Node& node : cabling_.nodes()) {
      if (!node.tier) node.tier = TierByName(node.name);
      if (!node.tier) node.tier = Tier::kHost;
    }
    if (!errors_.empty()) return tl::unexpected(errors_.Take());
    return cabling_.Build(name_, options_, errors_);
  }

 private:
  using Kind = Token::Kind;

  struct End {
    size_t node = 0;
    std::string port;  // may be empty
    Place place;
  };

  void Advance() { token_ = scanner_.Next(); }
  bool At(std::string_view sign) const { return token_.kind == Kind::kSign && token_.text == sign; }
  bool AtWord(std::string_view word) const {
    return token_.kind == Kind::kText && !token_.quoted && token_.text == word;
  }

  // Reports the first syntax error; parsing stops there.
  void Refuse(std::string_view expected) {
    if (!errors_.empty()) return;
    const std::string found = token_.kind == Kind::kEnd ? "the end of the file"
                              : token_.kind == Kind::kBroken && token_.quoted
                                  ? "a quoted text without a closing quote"
                                  : fmt::format("\"{}\"", token_.text.substr(0, 60));
    errors_.Add(token_.place, fmt::format("expected {}, found {}", expected, found));
  }

  void ReadGraph() {
    if (AtWord("strict")) Advance();
    if (!AtWord("graph")) return Refuse("\"graph\" at the start of the cabling plan");
    Advance();
    if (token_.kind == Kind::kText) {
      name_ = token_.text;
      Advance();
    }
    if (!At("{")) return Refuse("{");
    Advance();
    while (errors_.empty() && !At("}")) ReadStatement();
    if (!errors_.empty()) return;
    Advance();
    if (token_.kind != Kind::kEnd) Refuse("the end of the file after the graph");
  }

  void ReadStatement() {
    if (At(";")) return Advance();
    if (AtWord("subgraph") || At("{")) return Refuse("a cable (subgraphs are not supported)");
    if (AtWord("graph") || AtWord("node") || AtWord("edge")) {
      Advance();
      ReadAttributes(nullptr);
      return;
    }
    if (token_.kind != Kind::kText)
      return Refuse(
          "a cable such as \"leaf1\":\"swp1\" -- "
          "\"spine1\":\"swp1\", or }");
    const Token first = token_;
    Advance();
    if (At("=")) {  // a graph attribute
      Advance();
      if (token_.kind != Kind::kText) return Refuse("a value");
      return Advance();
    }
    End end = {.node = cabling_.AddNode(first.text, first.place), .port = {}, .place = first.place};
    if (!ReadPort(end)) return;
    if (!At("--")) return ReadAttributes(&cabling_.node(end.node));
    while (At("--")) {
      Advance();
      if (token_.kind != Kind::kText) return Refuse("the other end of the cable");
      End other = {.node = cabling_.AddNode(token_.text, token_.place), .place = token_.place};
      Advance();
      if (!ReadPort(other)) return;
      for (const End* each : {&end, &other}) {
        if (!each->port.empty()) continue;
        errors_.Add(each->place,
                    fmt::format("the end of the cable at {} has no port; expected "
                                "\"{}\":\"swp1\"",
                                cabling_.node(each->node).name, cabling_.node(each->node).name));
        return;
      }
      cabling_.AddCable({.a = end.node,
                         .b = other.node,
                         .a_port = end.port,
                         .b_port = other.port,
                         .place = end.place});
      end = std::move(other);
    }
    ReadAttributes(nullptr);
  }

  // Returns false after an error.
  bool ReadPort(End& end) {
    if (At(":")) {
      Advance();
      if (token_.kind != Kind::kText) {
        Refuse("a port name");
        return false;
      }
      end.port = token_.text;
      Advance();
    }
    if (At("->")) Refuse("-- (a cable has no direction)");
    return errors_.empty();
  }

  // Reads zero or more lists [name=value, ...]. `node` receives the attributes; nullptr: they
  // belong to a cable.
  void ReadAttributes(Cabling::Node* node) {
    while (At("[")) {
      Advance();
      while (!At("]")) {
        if (At(",") || At(";")) {
          Advance();
          continue;
        }
        if (token_.kind != Kind::kText) return Refuse("an attribute or ]");
        const std::string name = token_.text;
        Advance();
        if (!At("=")) continue;
        Advance();
        if (token_.kind != Kind::kText) return Refuse("an attribute value");
        if (node != nullptr && name == "function") node->tier = TierByRole(token_.text);
        Advance();
      }
      Advance();
    }
  }

  DotScanner scanner_;
  Token token_;
  YamlErrors errors_;
  const ConvertOptions& options_;
  std::string name_;
  Cabling cabling_;
};

}  // namespace

Result<Conversion> ConvertPtm(std::string_view text, std::string_view file,
                              const ConvertOptions& options) {
  return PtmReader(text, file, options).Read();
}

}  // namespace rocescope::topology
