#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Manual pages and the completion from the command's own tables.

usage: manual.py TEMPLATE PROGRAM...        (the result goes to stdout)

The template is text with @NAME@ on lines of its own, or @VERSION@ anywhere. What stands there
comes from `PROGRAM --json help` and `PROGRAM --json list`. @DATE@ is that of the template, or
SOURCE_DATE_EPOCH.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import time
from pathlib import Path

# What the word for a value or an operand means to the completion, first that matches.
KINDS = [
    (r"NAME\|PATH\|PID", "netns"),
    (r"=VALUE", "tunable"),
    (r"TUNABLE", "tunable-name"),
    (r"CONTAINER|ID-or-NAME", "container"),
    (r"COMMAND", "command"),
    (r"GROUP", "group"),
    (r"HOST", "host"),
    (r"FILE\.o", "loadable"),
    (r"FILE|PATH", "file"),
    (r"NAME", "scheduler"),
]

# The same for what a field of `steer` may be.
FIELD_KINDS = [
    (r"MODE", "mode"),
    (r"PID", "netns"),
    (r"DEVICE", "device"),
    (r"USER", "user"),
    (r"id:", "cgroup"),
]


def ask(program, word):
    done = subprocess.run([*program, "--json", word], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


# --- troff


def plain(text):
    """Text as it is, whatever troff makes of its characters."""
    for char, spelled_out in ("\\", r"\e"), ("-", r"\-"), ("'", r"\(aq"):
        text = text.replace(char, spelled_out)
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)


def rich(text):
    """`this` is bold."""
    return re.sub(r"`([^`]*)`", lambda m: rf"\fB{m[1]}\fR", plain(text))


def item(tag, text):
    return f".TP\n{tag}\n{rich(text)}"


def emphasized(text):
    """Words in capitals stand for something, all else is meant as it is."""
    parts = re.split(r"([A-Z]{2,}(?:[|:=.\-]*[A-Z]{2,})*)", text)
    fonts = [("B", "I")[i % 2] for i in range(len(parts))]
    return "".join(rf"\f{f}{plain(p)}\fR" for f, p in zip(fonts, parts, strict=True) if p)


def paragraph(lines):
    """A list where its lines say "  name: text", else text."""
    made = []
    for line in lines:
        entry = re.fullmatch(r"  (\S.*?): (.*)", line)
        made.append(item(emphasized(entry[1]), entry[2]) if entry else rich(line))
    return "\n".join(made)


def details(text):
    return "".join(f".PP\n{paragraph(p.splitlines())}\n" for p in text.split("\n\n"))


def option(opt):
    letter = rf"\fB\-{opt['letter']}\fR, " if opt["letter"] else ""
    value = rf" \fI{plain(opt['value'])}\fR" if opt["value"] else ""
    return item(rf"{letter}\fB\-\-{plain(opt['name'])}\fR{value}", opt["text"])


def capability(cap):
    when = f" ({cap['when']})" if cap["when"] else ""
    return item(rf"\fB{cap['name']}\fR{plain(when)}", cap["text"])


def sentence(text):
    return f"{text[0].upper()}{text[1:]}."


def synopsis(command):
    """Upper-case words stand for something, all else is meant as it is."""
    words = [rf"\fB{plain(command['name'])}\fR"]
    for part in re.split(r"([A-Z][A-Za-z.=|-]*|--\S+)", command["synopsis"]):
        italic = re.match(r"[A-Z]", part)
        words.append(rf"\fI{plain(part)}\fR" if italic else plain(part))
    return f"{words[0]} {''.join(words[1:])}".rstrip()


def command_section(command, options):
    """An option that several commands take is in the section of each."""
    text = f'.SS "{synopsis(command)}"\n{rich(sentence(command["text"]))}\n'
    if command["details"]:
        text += details(command["details"])
    text += "".join(option(options[command["name"], name]) + "\n" for name in command["options"])
    if command["capabilities"]:
        text += ".PP\nCapabilities:\n"
        text += "\n".join(capability(c) for c in command["capabilities"]) + "\n"
    return text


def wrapped(text):
    """Sources of manual pages have short lines; requests and lines that stand stay as they are."""
    made, stands = [], False
    for line in text.splitlines():
        stands = line != ".fi" and (stands or line == ".nf")
        if stands or line.startswith(".") or made[-1] == ".TP":
            made.append(line)
        else:
            made += textwrap.wrap(line, 79, break_long_words=False, break_on_hyphens=False)
    # what a line now begins with may not look like a request
    return "\n".join(re.sub(r"^'", r"\\&'", line) for line in made) + "\n"


def day(template):
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or os.stat(template).st_mtime
    return time.strftime("%Y-%m-%d", time.gmtime(int(seconds)))


def tunables(scheduler):
    rows = [f".SS {scheduler['name']}\n{rich(scheduler['about'])}"]
    for t in scheduler["tunables"]:
        name = rf"\fB{plain(t['name'])}\fR"
        rows.append(item(f"{name} ({t['default']}; {t['min']} to {t['max']})", t["text"]))
    return "\n".join(rows)


def fill_manual(help_, schedulers):
    options = {(c, opt["name"]): opt for opt in help_["options"] for c in opt["commands"]}
    everywhere = [option(opt) for opt in help_["options"] if opt["every_command"]]
    return {
        "COMMANDS": "".join(command_section(c, options) for c in help_["commands"]).rstrip(),
        "OPTIONS": "\n".join(everywhere),
        "TUNABLES": "\n".join(map(tunables, schedulers)),
        "EXIT_STATUS": "\n".join(item(c["code"], c["text"]) for c in help_["exit_codes"]),
        "FILES": "\n".join(item(rf"\fI{plain(f['path'])}\fR", f["text"]) for f in help_["files"]),
    }


# --- completion


def kind(text, kinds=KINDS):
    return next((k for pattern, k in kinds if re.search(pattern, text)), "none")


def cases(entries):
    """Lines of a shell's case, each answering words; what has none is left out."""
    return "\n".join(
        f"\t{shlex.quote(key)}) echo {shlex.quote(' '.join(words))} ;;"
        for key, words in entries
        if words
    )


def spelled(opt):
    return [f"--{opt['name']}"] + ([f"-{opt['letter']}"] if opt["letter"] else [])


def fill_steer(steer):
    """An option of a rule is no field of a connection; what has no value is followed by a field."""
    verbs = {v["name"]: v["words"] for v in steer["verbs"]}
    fields = {
        "rule": steer["rule"],
        "path": steer["path"],
        "test": [f for f in steer["rule"] if f["test"]],
    }
    kinds = [
        (f"{of} {f['name']}", [kind(f["value"], FIELD_KINDS)])
        for of, them in fields.items()
        for f in them
        if f["value"]
    ]
    kinds_of = ["rule", "path", "account"]
    behind = {of: [v.split()[1] for v in verbs if v.startswith(f"{of} ")] for of in kinds_of}
    names = {of: [f["name"] for f in them] for of, them in fields.items()}
    names["rule"] += ["at"]
    return {
        "STEER_FIRST": " ".join([v for v in verbs if " " not in v] + kinds_of),
        "STEER_RULE": " ".join(behind["rule"]),
        "STEER_PATH": " ".join(behind["path"]),
        "STEER_ACCOUNT": " ".join(behind["account"]),
        "STEER_MODES": " ".join(m["name"] for m in steer["modes"]),
        "STEER_WORDS": cases((v, [words] if words else []) for v, words in verbs.items()),
        "STEER_FIELDS": cases(names.items()),
        "STEER_KINDS": cases([*kinds, ("rule at", ["none"])]),
    }


def fill_completion(help_, schedulers):
    options = help_["options"]
    everywhere = [f"--{o['name']}" for o in options if o["every_command"]]
    valued = [(s, [kind(o["value"])]) for o in options if o["value"] for s in spelled(o)]
    commands = [(c["name"], c) for c in help_["commands"]]
    operands = [(n, [kind(w) for w in c["synopsis"].split()]) for n, c in commands]
    return {
        "COMMANDS": " ".join(name for name, _ in commands),
        "OPTIONS": " ".join(everywhere),
        "SCHEDULERS": " ".join(s["name"] for s in schedulers),
        "OPTIONS_OF": cases((n, [f"--{o}" for o in c["options"]]) for n, c in commands),
        "KIND_OF_VALUE": cases(valued),
        "KINDS_OF_WORDS": cases(operands),
        "TUNABLES_OF": cases((s["name"], [t["name"] for t in s["tunables"]]) for s in schedulers),
        **fill_steer(help_["steer"]),
    }


def main():
    template, *program = sys.argv[1:]
    help_ = ask(program, "help")
    schedulers = [s for s in ask(program, "list")["schedulers"] if s["builtin"]]
    is_manual = re.search(r"\.\d\.in$", template)
    fill = fill_manual if is_manual else fill_completion
    text = Path(template).read_text()
    values = {
        "VERSION": help_["version"],
        "DATE": day(template),
        **fill(help_, schedulers),
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    if left := re.findall(r"@[A-Z_]+@", text):
        sys.exit(f"manual.py: {template}: nothing is known as {', '.join(left)}")
    sys.stdout.write(wrapped(text) if is_manual else text)


if __name__ == "__main__":
    main()
