// SPDX-License-Identifier: BSD-3-Clause
#include "base/text/yaml_tree.h"

#include <gtest/gtest.h>

namespace rocescope::topology {
namespace {

using Kind = YamlNode::Kind;

std::string ErrorOf(std::string_view text, const YamlLimits& limits = {}) {
  const auto tree = ParseYaml(text, "f.yaml", limits);
  return tree ? "none" : tree.error().message;
}

TEST(YamlTreeTest, ValuesHavePositions) {
  const auto tree = ParseYaml("name: x\nlinks:\n  - [a, \"b\"]\n  -\n", "f.yaml");

  ASSERT_TRUE(tree.has_value()) << tree.error().message;
  ASSERT_EQ(tree->kind, Kind::kMap);
  ASSERT_EQ(tree->items.size(), 4u);
  EXPECT_EQ(tree->items[1].text, "x");
  EXPECT_EQ(tree->items[1].line, 1u);
  EXPECT_EQ(tree->items[1].column, 7u);
  const YamlNode& links = tree->items[3];
  ASSERT_EQ(links.items.size(), 2u);
  EXPECT_EQ(links.items[0].items[1].text, "b");
  EXPECT_EQ(links.items[0].items[1].line, 3u);
  EXPECT_EQ(links.items[0].items[1].column, 9u);
  EXPECT_TRUE(links.items[0].items[1].quoted);
  EXPECT_FALSE(links.items[0].items[0].quoted);
  EXPECT_EQ(links.items[1].kind, Kind::kNull);
}

TEST(YamlTreeTest, EmptyTextIsNull) {
  for (const char* text : {"", "\n", "# a comment\n", "---\n"}) {
    const auto tree = ParseYaml(text, "f.yaml");
    ASSERT_TRUE(tree.has_value()) << tree.error().message;
    EXPECT_EQ(tree->kind, Kind::kNull);
  }
}

TEST(YamlTreeTest, ByteOrderMarkIsSkipped) {
  const auto tree = ParseYaml(
      "\xef\xbb\xbf"
      "a: \"b\"\n",
      "f.yaml");
  ASSERT_TRUE(tree.has_value()) << tree.error().message;
  EXPECT_EQ(tree->items[0].text, "a");
  EXPECT_EQ(tree->items[1].column, 4u);
  EXPECT_EQ(ParseYaml("\xef\xbb\xbf", "f.yaml")->kind, Kind::kNull);
}

TEST(YamlTreeTest, OtherEncodingsAreErrors) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"\xff\xfe"
                                      "a\0"sv,
                                      "\xfe\xff\0a"sv, "a\0:\0"sv, "\0a\0:"sv, "\0\0\xfe\xff"sv}) {
    EXPECT_EQ(ErrorOf(text),
              "f.yaml:1:1: the file is encoded in UTF-16 or UTF-32: save it in UTF-8");
  }
}

TEST(YamlTreeTest, DuplicateKeyIsAnError) {
  EXPECT_EQ(ErrorOf("a: 1\nb: 2\n\"a\": 3\n"),
            "f.yaml:3:1: duplicate key \"a\"; it is already set in line 1");
  EXPECT_EQ(ErrorOf("a: {b: 1}\nc: {b: 1}\n"), "none");
}

TEST(YamlTreeTest, UnsafeFeaturesAreRejected) {
  EXPECT_EQ(ErrorOf("a: &x [1]\nb: *x\n"),
            "f.yaml:1:4: anchors (&name) are not supported; write the value out");
  EXPECT_NE(ErrorOf("b: *x\n").find("f.yaml:1:"), std::string::npos);
  EXPECT_EQ(ErrorOf("a: !!int 3\n"),
            "f.yaml:1:4: tags are not supported; found tag:yaml.org,2002:int");
  EXPECT_NE(ErrorOf("[a, b]: 1\n").find("a key must be a scalar"), std::string::npos);
  EXPECT_NE(ErrorOf("? {a: 1}\n: 2\n").find("a key must be a scalar"), std::string::npos);
  EXPECT_EQ(ErrorOf("a: 1\n---\nb: 2\n"),
            "f.yaml:3:1: a second document starts here; expected one document");
}

TEST(YamlTreeTest, DirectivesAreRejected) {
  constexpr auto kMessage = "a line must not start with %: directives are not supported";
  EXPECT_EQ(ErrorOf("%listen: 1"), std::string("f.yaml:1:1: ") + kMessage);
  EXPECT_EQ(ErrorOf("# a comment\n\n%TAG ! x\n---\na: 1\n"),
            std::string("f.yaml:3:1: ") + kMessage);
  EXPECT_EQ(ErrorOf("%YAML 1.2\n---\na: 1\n"), "none");
}

TEST(YamlTreeTest, SyntaxErrorsHavePositions) {
  EXPECT_TRUE(ErrorOf("a: [1, 2\n").starts_with("f.yaml:2:1: ")) << ErrorOf("a: [1, 2\n");
  EXPECT_TRUE(ErrorOf("a: 1\n b: 2\n").starts_with("f.yaml:2:")) << ErrorOf("a: 1\n b: 2\n");
  EXPECT_EQ(ErrorOf("é: [a,\n  \"x\n  b]\n"),
            "f.yaml:2:3: the quoted string has no closing \" on this line");
  EXPECT_EQ(ErrorOf("a: 'x''\n"), "f.yaml:1:4: the quoted string has no closing ' on this line");
  EXPECT_EQ(ErrorOf("a: |\n  x\n"), "f.yaml:1:4: a string must be on one line");
  EXPECT_EQ(ErrorOf("a: \"\\\"x\"\nb: 'it''s'\nc: \"\"\n"), "none");
}

TEST(YamlTreeTest, MultiLineTextsAreAcceptedOnRequest) {
  EXPECT_EQ(ErrorOf("a: |\n  x\n  y\nb: \"x\n  y\"\n", {.long_texts = true}), "none");
  EXPECT_EQ(ErrorOf("b: \"x\n  y\n", {.long_texts = true}),
            "f.yaml:1:4: the quoted string has no closing \"");
}

TEST(YamlTreeTest, DepthAndSizeAreLimited) {
  EXPECT_EQ(ErrorOf("[[[1]]]", {.depth = 3}), "none");
  EXPECT_EQ(ErrorOf("[[[[1]]]]", {.depth = 3}), "f.yaml:1:4: more than 3 nested levels");
  EXPECT_EQ(ErrorOf("[1, 2, 3]", {.nodes = 3}), "f.yaml:1:8: more than 3 values");
  EXPECT_NE(ErrorOf("[1, 2, 3]", {.bytes = 8}).find("too large"), std::string::npos);
}

// The parser keeps the tokens of a list or map in brackets. It must not see absurd ones.
TEST(YamlTreeTest, NestingIsLimitedBeforeItCostsMemory) {
  constexpr auto kMessage = "more than 32 nested levels: 4097 brackets are open here";
  for (const char* bracket : {"{", "[", "[ ", "{a: ["}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += bracket;
    const std::string error = ErrorOf(text);
    EXPECT_NE(error.find(kMessage), std::string::npos) << error;
  }
  EXPECT_EQ(ErrorOf("# é\n" + std::string(100'000, '{')),
            std::string("f.yaml:2:4097: ") + kMessage);
}

TEST(YamlTreeTest, IndicatorsAreLimitedBeforeTheyCostMemory) {
  constexpr int kMost = 2 << 20;
  const auto repeated = [](std::string_view part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += part;
    return text;
  };
  EXPECT_TRUE(
      ErrorOf("[é\n" + repeated(",", kMost))
          .starts_with("f.yaml:2:2097152: more than 2097152 indicators such as commas, colons"));
  for (const char* part : {"\"\"", "&a "}) {
    const std::string error = ErrorOf(repeated(part, kMost + 1));
    EXPECT_NE(error.find("more than 2097152 indicators"), std::string::npos) << part << error;
  }
}

TEST(YamlTreeTest, LargeTextsOfOrdinaryValuesAreRead) {
  std::string rows = "rows:\n";
  for (int i = 0; i < 90'000; ++i) {
    rows += "  - {name: \"h[1-2]\", nics: [{device: m0, addresses: [10.0.0.1, 10.0.0.2]}]}\n";
  }
  std::string flow = "{\"rows\": [1";
  for (int i = 0; i < 60'000; ++i) flow += R"(,{"a": "h[1-2]", "b": [1, {"c": ":"}]})";
  EXPECT_EQ(ErrorOf(rows), "none");
  EXPECT_EQ(ErrorOf(flow + "]}"), "none");
  // Brackets in strings and comments do not nest.
  EXPECT_EQ(ErrorOf("[\"" + std::string(4'000, '[') + "\"] # " + std::string(90, '{')), "none");
}

}  // namespace
}  // namespace rocescope::topology
