#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes man pages and bash completion of a program from its own --help.

usage: make_docs.py --program PATH --version VERSION --date YYYY-MM-DD --man DIR --completions DIR
                    [--emulator COMMAND]

The --man directory receives NAME.1.gz and, for each subcommand, NAME-SUBCOMMAND.1.gz. The --completions
directory receives the file NAME. --emulator is the command that runs a program of another architecture, such
as qemu. The script expects the format of CLI11: a description, a usage line, sections with indented entries,
and a footer.
"""

import argparse
import gzip
import pathlib
import re
import shlex
import subprocess

SECTION = re.compile(r"^(Positionals|Options|Subcommands|\[Option Group: [^]]*\]):?\s*$", re.I)
ENTRY = re.compile(r"^  ?(\S.*)$")
CONTINUED = re.compile(r"^ {8,}(\S.*)$")
CHOICES = re.compile(r":\{([^}]*)\}")


class Help:
    """The --help of a program or of one of its subcommands."""

    def __init__(self, program, words):
        """`program` is the command line without arguments; `words` starts with the program's name."""
        self.words = words
        text = subprocess.run([*program, *words[1:], "--help"], check=True, capture_output=True,
                              text=True, timeout=60).stdout
        self.description, self.usage, self.sections, self.footer = split_help(text)
        self.commands = [Help(program, [*words, entry[0].split()[0]])
                         for entry in self.sections.get("Subcommands", [])]

    def summary(self):
        first = " ".join(self.description).strip() or self.words[-1]
        return first[0].lower() + first[1:].rstrip(".") if first[1:2].islower() else first

    def options(self):
        return [entry[0] for entry in self.sections.get("Options", [])]


def split_help(text):
    description, usage, sections, footer = [], "", {}, []
    entries = None
    state = "description"
    # All texts start in the same column, also those of subcommands.
    option = re.search(r"^ +-h,--help +(?=\S)", text, re.M)
    column = option.end() - option.start() if option else 30
    for line in text.splitlines():
        if line.startswith("Usage:") and not usage:
            usage = pathlib.PurePath(line.removeprefix("Usage:").strip().split()[0]).name
            usage = " ".join([usage, *line.removeprefix("Usage:").split()[1:]])
            state = "sections"
            continue
        if state == "description":
            description.append(line.strip())
            continue
        if state == "sections":
            section = SECTION.match(line)
            if section:
                entries = sections.setdefault(section[1].capitalize(), [])
                continue
            if not line.strip():
                continue
            if entries is not None and CONTINUED.match(line) and entries:
                entries[-1][1].append(line.strip())
                continue
            if entries is not None and ENTRY.match(line):
                if line[column - 1:column] == " " and line[column:column + 1].strip():
                    entries.append((line[:column].strip(), [line[column:].strip()]))
                else:
                    entries.append((line.strip(), []))
                continue
            state = "footer"
        footer.append(line)
    return description, usage, sections, footer


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = text.replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return "\\&" + text if text.startswith((".", "\\(aq")) else text


def entry_lines(entry, words):
    """One option, argument or command; CLI11 writes `-o,--output FORMAT:{text,json} [text] REQUIRED`."""
    names, _, rest = entry.partition(" ")
    notes = []
    choices = CHOICES.search(entry)
    if choices:
        notes.append("One of: " + ", ".join(choices[1].split(",")) + ".")
    range_ = re.search(r" in \[(\S+) - (\S+)\]", rest)
    if range_:
        notes.append(f"From {range_[1]} to {range_[2]}.")
    default = re.search(r" \[([^]]*)\](?= |$)", " " + rest.replace(range_[0] if range_ else "\0", ""))
    if default and default[1]:
        notes.append(f"Default: {default[1]}.")
    if "REQUIRED" in rest:
        notes.append("Required.")
    value = re.match(r"[A-Z][\w:-]*", rest)
    label = r"\fB" + roff(names.replace(",", ", ")) + r"\fR"
    if value and value[0] != "REQUIRED":
        name = re.sub(r":(INT|UINT|FLOAT|TEXT|\{.*)?$", "", value[0])
        label += r" \fI" + roff(name) + r"\fR" + (" ..." if rest.rstrip().endswith("...") else "")
    lines = [".TP", label]
    for part in words or ([] if notes else [""]):
        lines.append(roff(part) if part else "\\&")
    if notes:
        if words and not words[-1].rstrip().endswith((".", ";", ":")):
            lines[-1] += "."
        lines.append(roff(" ".join(notes)))
    return lines


def footer_lines(footer):
    """Paragraphs, with sections for exit codes and examples; indented lines stay as they are."""
    lines, verbatim, new = [], False, True
    for line in [*footer, ""]:
        indented = line.startswith("  ")
        if verbatim and not indented:
            lines += [".fi", ".RE"]
            verbatim, new = False, True
        if not line.strip():
            new = True
            continue
        heading = re.match(r"^(Exit codes?|Examples?):\s*(.*)$", line)
        if heading:
            lines.append(".SH EXIT STATUS" if heading[1].startswith("Exit") else ".SH EXAMPLES")
            new = False
            if heading[2]:
                lines.append(roff(heading[2]))
            continue
        if indented and not verbatim:
            lines += [".RS 2", ".nf"]
            verbatim = True
        if new and not verbatim:
            lines.append(".PP")
        new = False
        lines.append(roff(line[2:] if verbatim else line))
    return lines


def section_lines(page, sub):
    lines = []
    heading = ".SS" if sub else ".SH"
    for title, entries in page.sections.items():
        if title == "Subcommands" or not entries:
            continue
        name = {"Positionals": "ARGUMENTS", "Options": "OPTIONS"}.get(title, title)
        if not sub:
            lines.append(f"{heading} {roff(name)}")
        for entry in entries:
            lines += entry_lines(*entry)
    return lines


def man_page(page, root, version, date):
    name = "-".join(page.words)
    lines = [f'.TH {roff(name.upper())} 1 {date} "rocescope {roff(version)}" "User Commands"',
             ".nh", ".ad l", ".SH NAME", f"{roff(name)} \\- {roff(page.summary())}", ".SH SYNOPSIS"]
    words = page.usage.split() or page.words
    program = len(page.words) if words[:len(page.words)] == page.words else 1
    usage = [f".B {roff(' '.join(words[:program]))}", roff(" ".join(words[program:]))]
    lines += [line for line in usage if line]
    description, rest = [], list(page.footer)
    while rest and not re.match(r"^(Exit codes?|Examples?):", rest[0]):
        description.append(rest.pop(0))
    lines.append(".SH DESCRIPTION")
    lines.append(roff(" ".join(line for line in page.description if line)))
    lines += footer_lines(description)
    lines += section_lines(page, sub=False)
    if page.commands:
        lines.append(".SH COMMANDS")
        for command in page.commands:
            if page is root:
                lines += entry_lines(command.words[-1],
                                     [" ".join(command.description).strip().rstrip(".") + ".",
                                      f"See {'-'.join(command.words)}(1)."])
            else:
                lines += [f".SS {roff(command.usage)}",
                          roff(" ".join(command.description).strip())]
                lines += section_lines(command, sub=True)
                lines += footer_lines(command.footer)
    lines += footer_lines(rest)
    others = [root, *root.commands]
    see = [f".BR {roff('-'.join(other.words))} (1)" for other in others if other is not page]
    if see:
        lines += [".SH SEE ALSO", *[line + "," for line in see[:-1]], see[-1]]
    return "\n".join(lines) + "\n"


def completion_case(page):
    """One branch of the case statement over the words that select the subcommand."""
    values = []
    commands = [command.words[-1] for command in page.commands]
    options = []
    for option in page.options():
        names = re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", option.split(" ")[0])
        options += names
        choices = CHOICES.search(option)
        if choices:
            values.append((names, choices[1].replace(",", " ")))
        elif len(option.split()) > 1 and not option.split()[1].startswith("["):
            values.append((names, None))
    branch = [f'    "{" ".join(page.words[1:])}")']
    if values:
        branch.append("      case \"$prev\" in")
        for names, choices in values:
            take = f'COMPREPLY=($(compgen -W "{choices}" -- "$cur"))' if choices else ":"
            branch.append(f"        {'|'.join(names)}) {take}; return ;;")
        branch.append("      esac")
    branch += [f'      commands="{" ".join(commands)}"', f'      options="{" ".join(options)}" ;;']
    nested = [line for command in page.commands for line in completion_case(command)]
    return branch + nested


def paths(page):
    return [" ".join(page.words[1:]), *[path for c in page.commands for path in paths(c)]]


def completion(root):
    name = root.words[0]
    function = "_" + re.sub(r"\W", "_", name)
    known = " ".join(f'"{path}"' for path in paths(root) if path)
    return "\n".join([
        f"# bash completion for {name}, generated from its --help",
        f"{function}() {{",
        '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"',
        '  local path="" next word known commands="" options=""',
        "  COMPREPLY=()",
        '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        '    next="${path:+$path }$word"',
        f"    for known in {known or chr(34) * 2}; do",
        '      if [ "$next" = "$known" ]; then path="$next"; break; fi',
        "    done",
        "  done",
        '  case "$path" in',
        *completion_case(root),
        "  esac",
        "  # Without a match, bash completes file names (-o default).",
        '  if [[ "$cur" == -* ]]; then',
        '    COMPREPLY=($(compgen -W "$options" -- "$cur"))',
        "  else",
        '    COMPREPLY=($(compgen -W "$commands" -- "$cur"))',
        "  fi",
        "}",
        f"complete -o default -F {function} {name}", ""])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--name", help="name of the program (default: the name of its file)")
    parser.add_argument("--version", required=True)
    parser.add_argument("--date", required=True)
    parser.add_argument("--man", required=True, type=pathlib.Path)
    parser.add_argument("--completions", required=True, type=pathlib.Path)
    parser.add_argument("--emulator", default="")
    options = parser.parse_args()
    root = Help([*shlex.split(options.emulator), options.program], [options.name or options.program.name])
    for folder in (options.man, options.completions):
        folder.mkdir(parents=True, exist_ok=True)
    for page in (root, *root.commands):
        text = man_page(page, root, options.version, options.date).encode()
        path = options.man / ("-".join(page.words) + ".1.gz")
        path.write_bytes(gzip.compress(text, 9, mtime=0))
    (options.completions / root.words[0]).write_text(completion(root))


if __name__ == "__main__":
    main()
