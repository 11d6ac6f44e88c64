// SPDX-License-Identifier: BSD-3-Clause
#include "base/text/yaml_fields.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "base/text/quantity.h"

namespace rocescope::topology {
namespace {

YamlNode Tree(std::string_view text) { return *ParseYaml(text, "f.yaml"); }

TEST(YamlFieldsTest, UnknownKeySuggestsTheNearest) {
  YamlErrors errors("f.yaml");
  const YamlNode tree = Tree("speed: 400G\ndealy: 1us\n");
  const YamlMap map(tree, "a link", {"ends", "speed", "delay"}, errors);

  EXPECT_NE(map.Find("speed"), nullptr);
  EXPECT_EQ(map.Find("delay"), nullptr);
  EXPECT_EQ(errors.Take().message,
            "f.yaml:2:1: unknown key \"dealy\" of a link; did you mean \"delay\"?");
}

TEST(YamlFieldsTest, NamesHaveNoControlCharacters) {
  const auto error = [](std::string_view text) {
    YamlErrors errors("f.yaml");
    const YamlNode tree = Tree(text);
    const bool has_value = ReadName(tree.items[1], 8, errors).has_value();
    EXPECT_EQ(has_value, errors.empty());
    return has_value ? "" : errors.Take().message;
  };
  EXPECT_EQ(error("name: leaf-0\n"), "");
  EXPECT_EQ(error("name: gr\xc3\xbc\xc3\x9f"
                  "e\n"),
            "");
  EXPECT_EQ(error("name: ''\n"), "f.yaml:1:7: a name must have 1 to 8 bytes, found 0 bytes");
  EXPECT_EQ(error("name: 123456789\n"), "f.yaml:1:7: a name must have 1 to 8 bytes, found 9 bytes");
  const std::pair<std::string_view, std::string_view> kControls[] = {{"\\0", "0000"},
                                                                     {"\\n", "000A"},
                                                                     {"\\x7f", "007F"},
                                                                     {"\\u0085", "0085"},
                                                                     {"\\u202e", "202E"}};
  for (const auto& [escape, code] : kControls) {
    EXPECT_EQ(
        error(fmt::format("name: \"a{}\"\n", escape)),
        fmt::format("f.yaml:1:7: the name contains the control character U+{}: remove it", code));
  }
  EXPECT_EQ(error("name: ab\xe9\n"),
            "f.yaml:1:7: byte 3 of the name is not valid UTF-8: save the file in UTF-8");
}

TEST(YamlFieldsTest, UnknownKeyListsAllIfNoneIsNear) {
  YamlErrors errors("f.yaml");
  const YamlMap map(Tree("colour: red\n"), "a link", {"ends", "speed"}, errors);

  EXPECT_EQ(errors.Take().message,
            "f.yaml:1:1: unknown key \"colour\" of a link; expected one of ends, speed");
}

TEST(YamlFieldsTest, MissingKeyIsAnError) {
  YamlErrors errors("f.yaml");
  const YamlNode tree = Tree("speed: 1G\n");
  const YamlMap map(tree, "a link", {"ends", "speed"}, errors);

  EXPECT_EQ(map.Require("ends"), nullptr);
  EXPECT_EQ(errors.Take().message, "f.yaml:1:1: the key \"ends\" of a link is missing");
}

TEST(YamlFieldsTest, NonMapIsAnError) {
  YamlErrors errors("f.yaml");
  const YamlNode tree = Tree("[1]");
  const YamlMap map(tree, "a link", {"ends"}, errors);

  EXPECT_EQ(map.Require("ends"), nullptr);
  EXPECT_EQ(errors.Take().message, "f.yaml:1:1: expected the keys of a link (ends), found a list");
}

TEST(YamlFieldsTest, ValuesAreParsedStrictly) {
  constexpr std::array<std::string_view, 2> kColours = {"red", "green"};
  YamlErrors errors("f.yaml");
  EXPECT_EQ(ReadNumber(Tree("17"), 0, 20, errors), 17u);
  EXPECT_EQ(ReadBool(Tree("true"), errors), true);
  EXPECT_EQ(ReadChoice(Tree("green"), kColours, errors), 1u);
  EXPECT_EQ(ReadParsed(Tree("1us"), ParseDelay, errors), Duration(1000));
  EXPECT_TRUE(errors.empty());

  const auto refused = [&](auto read, const char* message) {
    read();
    EXPECT_EQ(errors.Take().message, message);
  };
  refused([&] { ReadNumber(Tree("21"), 0, 20, errors); },
          "f.yaml:1:1: expected a whole number from 0 to 20, found \"21\"");
  refused([&] { ReadNumber(Tree("0x11"), 0, 20, errors); },
          "f.yaml:1:1: expected a whole number from 0 to 20, found \"0x11\"");
  refused([&] { ReadBool(Tree("yes"), errors); },
          "f.yaml:1:1: expected true or false, found \"yes\"");
  refused([&] { ReadChoice(Tree("gren"), kColours, errors); },
          "f.yaml:1:1: expected red, green, found \"gren\"; did you mean \"green\"?");
  refused([&] { ReadText(Tree("{a: 1}"), errors); }, "f.yaml:1:1: expected a scalar, found a map");
  refused([&] { ReadList(Tree("~"), errors); }, "f.yaml:1:1: expected a list, found nothing");
}

TEST(YamlFieldsTest, ErrorsAreSortedByPosition) {
  YamlErrors errors("f.yaml");
  errors.Add(Place{.line = 9, .column = 1}, "late");
  errors.Add(Place{.line = 2, .column = 5}, "early");

  EXPECT_EQ(errors.Take().message, "f.yaml:2:5: early\nf.yaml:9:1: late");
}

TEST(YamlFieldsTest, AtMostTwentyErrorsAreReported) {
  YamlErrors errors("f.yaml");
  for (uint32_t i = 1; i <= 30; ++i) errors.Add(Place{.line = i, .column = 1}, "x");

  EXPECT_TRUE(errors.full());
  const std::string message = errors.Take().message;
  EXPECT_TRUE(message.ends_with("f.yaml:20:1: x\nf.yaml: more errors may follow")) << message;
}

}  // namespace
}  // namespace rocescope::topology
