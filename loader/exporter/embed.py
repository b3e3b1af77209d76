#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The page of `exporter --ui` as C, with the policy that lets a browser run it and nothing else.

embed.py PAGE.html     prints C. The style and the script of the page are named by their hashes.
"""

import base64
import hashlib
import json
import re
import sys
from pathlib import Path

POLICY = (
    "default-src 'none'",
    "script-src {script}",
    "style-src {style}",
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)


def source(page, tag):
    """As the policy names what stands in the one element of that kind."""
    (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def policy(page):
    return "; ".join(POLICY).format(script=source(page, "script"), style=source(page, "style"))


def main():
    page = Path(sys.argv[1]).read_text(encoding="ascii")
    print('#include "exporter/ui.h"')
    print("const char ui_policy[] =", json.dumps(policy(page)), end=";\n")
    print("const char ui_page[] =")
    # a question mark could be a part of a trigraph
    print(*(json.dumps(line).replace("?", "\\?") for line in page.splitlines(True)), sep="\n")
    print(";")


if __name__ == "__main__":
    main()
