# SPDX-License-Identifier: BSD-3-Clause
"""A strict subset of YAML that is enough for a small mapping: maps by indentation, maps in braces, and
scalars, plain or in quotes, on one line. Everything else is an error with its line and column. A file
in this subset means the same to every YAML reader, except that all scalars are strings."""

import re

from problem import Problem

KEY = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s'"#&*!|>@`{}\[\],:%?-][^#{}\[\],:"']*?))\s*:(?=\s|$)""")
QUOTED = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')""")
ESCAPES = {"\\": "\\", '"': '"', "t": "\t", "n": "\n", "/": "/"}


class Node:
    """A string or a map, with its position. `keys` has the position of each key of a map."""

    def __init__(self, value, line, column):
        self.value, self.line, self.column = value, line, column
        self.keys = {}

    @property
    def is_map(self):
        return isinstance(self.value, dict)


class Reader:
    def __init__(self, text, name):
        self.name = name
        self.lines = text.split("\n")

    def fail(self, line, column, message):
        raise Problem(f"{self.name}:{line}:{column}: {message}")

    def read(self):
        rows = []
        for number, text in enumerate(self.lines, 1):
            text = text.rstrip("\r")
            bare = text.lstrip(" ")
            if bare.startswith("\t"):
                self.fail(number, len(text) - len(bare) + 1, "tab in the indentation; use spaces")
            if bare and not bare.startswith("#"):
                rows.append((number, len(text) - len(bare), text))
        if not rows:
            self.fail(1, 1, "the file is empty; expected a map")
        node, end = self.block(rows, 0, rows[0][1])
        if end < len(rows):
            number, indent, _ = rows[end]
            self.fail(number, indent + 1, "wrong indentation")
        return node

    def block(self, rows, at, indent):
        """The map of the rows from `at` on that have this indentation."""
        node = Node({}, rows[at][0], indent + 1)
        while at < len(rows) and rows[at][1] == indent:
            number, _, text = rows[at]
            key, position = self.key(number, text, indent)
            at += 1
            column = position + len(text[position:]) - len(text[position:].lstrip()) + 1
            rest = text[position:].strip()
            if rest and not rest.startswith("#"):
                value, end = self.value(number, text, column - 1, "")
                self.require_end(number, text, end)
            elif at < len(rows) and rows[at][1] > indent:
                value, at = self.block(rows, at, rows[at][1])
            else:
                self.fail(number, position + 1, f'no value for "{key}"')
            self.add(node, key, value, number, indent + 1)
        return node, at

    def add(self, node, key, value, line, column):
        if key in node.value:
            self.fail(line, column, f'duplicate key "{key}"')
        node.value[key] = value
        node.keys[key] = (line, column)

    def key(self, line, text, at):
        match = KEY.match(text, at)
        if not match:
            self.fail(line, at + 1, "expected `key: value`; quote keys with other characters, as "
                                    "\"IF-MIB::ifHCInOctets\": rx_bytes; lists, anchors, tags and texts "
                                    "of several lines are not supported")
        return self.plain(match, line, at), match.end()

    def plain(self, match, line, at):
        if match[1] is not None:
            def replace(escape):
                if escape[1] not in ESCAPES:
                    self.fail(line, at + 1, f"unknown escape \\{escape[1]}")
                return ESCAPES[escape[1]]
            return re.sub(r"\\(.)", replace, match[1])
        return match[2].replace("''", "'") if match[2] is not None else match[3]

    def value(self, line, text, at, closing):
        """A scalar or a map in braces that starts at `at`, and the position after it."""
        if text[at] == "{":
            return self.braces(line, text, at)
        if text[at] in "\"'":
            match = QUOTED.match(text, at)
            if not match:
                self.fail(line, at + 1, "the quotes are not closed")
            return Node(self.plain(match, line, at), line, at + 1), match.end()
        if text[at] in "[]&*!|>@`%}," or text[at:at + 2] in ("- ", "? "):
            self.fail(line, at + 1, f'"{text[at]}" is not supported here; put a text in quotes')
        end = re.compile(r"\s#|[,}]" if closing else r"\s#").search(text, at)
        scalar = text[at:end.start() if end else len(text)].rstrip()
        if ": " in scalar or scalar.endswith(":"):
            self.fail(line, at + 1, "a second `:` in this line; put the text in quotes")
        return Node(scalar, line, at + 1), at + len(scalar)

    def braces(self, line, text, at):
        node = Node({}, line, at + 1)
        at = self.skip(text, at + 1)
        while text[at:at + 1] != "}":
            begin = at
            key, at = self.key(line, text, at)
            at = self.skip(text, at)
            if at == len(text):
                self.fail(line, begin + 1, f'no value for "{key}"')
            value, at = self.value(line, text, at, "}")
            if value.value == "":
                self.fail(line, begin + 1, f'no value for "{key}"')
            self.add(node, key, value, line, begin + 1)
            at = self.skip(text, at)
            if text[at:at + 1] == ",":
                at = self.skip(text, at + 1)
            elif text[at:at + 1] != "}":
                self.fail(line, at + 1, 'expected "," or "}" in the same line')
        return node, at + 1

    @staticmethod
    def skip(text, at):
        while text[at:at + 1] == " ":
            at += 1
        return at

    def require_end(self, line, text, at):
        rest = text[at:]
        if rest.strip() and not re.match(r"\s+#", rest):
            self.fail(line, at + 1, f'unexpected "{rest.strip()[:20]}"')


def read(text, name):
    """The map of a file. Raises Problem with "NAME:LINE:COLUMN: ..."."""
    try:
        return Reader(text, name).read()
    except RecursionError:
        raise Problem(f"{name}:1:1: the maps are nested too deeply") from None
