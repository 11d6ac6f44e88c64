#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""words.py finds replaced words in comments, literals and prose, and nowhere else."""
import unittest

import words


def found(name, source):
    return [(hit.line, hit.name) for hit in words.find(name, source)]


class CppAndProto(unittest.TestCase):
    def test_a_comment_is_checked_and_its_line_is_reported(self):
        self.assertEqual(found("x.cc", "int a;\nint b;  // octets\n"), [(2, "octets")])
        self.assertEqual(found("x.proto", "/* a\n   the box */\n"), [(2, "box")])

    def test_names_inside_a_comment_are_not_checked(self):
        for name in ["`octets`", "flow/sighting.h", "Rhythm.members", "the tell.cc file"]:
            self.assertEqual(found("x.cc", f"// Reads {name} again.\n"), [], name)

    def test_code_is_not_checked(self):
        self.assertEqual(found("x.cc", "int octets = tell(box);\n"), [])

    def test_a_literal_with_a_space_is_checked_and_a_key_is_not(self):
        self.assertEqual(found("x.cc", 'f("octets");\nf("ten octets");\n'), [(2, "octets")])

    def test_a_comment_mark_inside_a_literal_starts_no_comment(self):
        self.assertEqual(found("x.cc", 'f("http://x"); int octets;\n'), [])

    def test_a_quote_inside_a_comment_starts_no_literal(self):
        self.assertEqual(found("x.cc", '// the "first\nint tell; // "\n'), [])

    def test_digit_separators_and_characters_start_no_literal(self):
        self.assertEqual(found("x.cc", "int a = 1'000; char c = '\"'; int octets;\n"), [])

    def test_an_include_is_not_checked(self):
        self.assertEqual(found("x.cc", '#include "the box/x.h"\n'), [])

    def test_a_raw_literal_is_checked_line_by_line(self):
        self.assertEqual(found("x.cc", 'f(R"(one\ntwo octets)");\n'), [(2, "octets")])


class Starts(unittest.TestCase):
    def test_a_comment_that_continues_another_sentence_is_found(self):
        for text in ["// Of each port.", "// Whose it is.", "int a;  // of them", "// By kind.",
                     "// Likewise.", "// That it holds.", "// Not that it matters."]:
            self.assertEqual(found("x.h", text + "\n"), [(1, "start")], text)

    def test_full_sentences_are_fine(self):
        for text in ["// By default the table is empty.", "// Official name.", "// That is the limit.",
                     "// Of these, the first wins.", "std::map<A, B> a;  // by name"]:
            self.assertEqual(found("x.h", text + "\n"), [], text)

    def test_a_later_line_of_a_comment_may_start_with_any_word(self):
        self.assertEqual(found("x.h", "// The number\n// of ports.\n"), [])


class OtherLanguages(unittest.TestCase):
    def test_python_comments_and_strings(self):
        self.assertEqual(found("x.py", "octets = 1  # the box\nf('it mends that')\n"),
                         [(1, "box"), (2, "mend")])

    def test_a_python_program_without_a_suffix(self):
        self.assertEqual(found("tool", "#!/usr/bin/env python3\n# the box\n"), [(2, "box")])

    def test_shell_and_yaml(self):
        self.assertEqual(found("x.sh", "a=${#tell}  # octets\n"), [(1, "octets")])
        self.assertEqual(found("x.yaml", "tell: 1\n# the box\n"), [(2, "box")])

    def test_typescript_templates_and_quotes(self):
        self.assertEqual(found("x.ts", "f(`${tell} of octets`); g('a b'); h('the box');\n"),
                         [(1, "octets"), (1, "box")])


class Markdown(unittest.TestCase):
    def test_prose_is_checked_and_code_is_not(self):
        text = "The box.\n\n```\nthe box\n```\n\n    the box\n\nIt has `octets` and octets.\n"
        self.assertEqual(found("x.md", text), [(1, "box"), (9, "octets")])

    def test_link_targets_are_not_checked(self):
        self.assertEqual(found("x.md", "See [this](the box.md).\n"), [])


class Precision(unittest.TestCase):
    def test_words_that_only_look_alike_are_fine(self):
        for text in ["intelligent", "standard", "understand", "failed", "amend", "toolbox",
                     "a checkbox", "it stands for Round Trip Time", "a way to do it",
                     "in step 3", "troubleshooting", "mushroom", "sightline"]:
            self.assertEqual(found("x.md", f"Here is {text}.\n"), [], text)


class Lists(unittest.TestCase):
    HITS = [words.Hit("a/x.cc", 1, "octets", "octets", ""), words.Hit("a/x.cc", 2, "box", "the box", ""),
            words.Hit("b/y.cc", 1, "tell", "tells", "")]

    def test_the_baseline_can_be_read_back(self):
        self.assertEqual(words.read_baseline(words.write_baseline(self.HITS)),
                         {"a/x.cc": 2, "b/y.cc": 1})

    def test_a_file_within_its_baseline_passes_and_one_above_fails(self):
        self.assertEqual(words.exceeding(self.HITS, {"a/x.cc": 2, "b/y.cc": 1}), [])
        self.assertEqual(words.exceeding(self.HITS, {"a/x.cc": 5}), self.HITS[2:])
        self.assertEqual(words.exceeding(self.HITS, {"a/x.cc": 1, "b/y.cc": 1}), self.HITS[:2])

    def test_an_exception_needs_a_reason_and_covers_only_its_word(self):
        allowed = words.read_allowed("# comment\na/*: octets: wire formats\n")
        self.assertTrue(words.is_allowed(self.HITS[0], allowed))
        self.assertFalse(words.is_allowed(self.HITS[1], allowed))
        with self.assertRaises(SystemExit):
            words.read_allowed("a/*: octets\n")


if __name__ == "__main__":
    unittest.main()
