#!/usr/bin/env python3
"""Preprocessor of the book for mdBook: links that leave `docs` lead to the source, or become plain text where nobody says where that is.

    [preprocessor.outside]
    command = "python3 docs/outside.py"
    source = "https://example.org/ravel/blob/main"
"""

import json
import posixpath
import re
import sys

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^ *```", re.MULTILINE)


def mended(text, folder, source):
    def link(match):
        words, target = match[1], match[2]
        path, _, place = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not path:
            return match[0]
        found = posixpath.normpath(posixpath.join("docs", folder, path))
        if found.startswith("docs/"):
            return match[0]
        return f"[{words}]({source}/{found}{'#' + place if place else ''})" if source else words

    # Every second part between fences is code.
    parts, start, is_code = [], 0, False
    for fence in [*FENCE.finditer(text), None]:
        end = len(text) if fence is None else fence.start()
        part = text[start:end]
        parts.append(part if is_code else LINK.sub(link, part))
        start, is_code = end, not is_code
    return "".join(parts)


def walk(items, source):
    for item in items:
        if isinstance(item, dict) and "Chapter" in item:
            chapter = item["Chapter"]
            if chapter.get("path"):
                chapter["content"] = mended(chapter["content"], posixpath.dirname(chapter["path"]), source)
            walk(chapter["sub_items"], source)


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "supports":
        return
    context, book = json.load(sys.stdin)
    settings = context["config"].get("preprocessor", {}).get("outside", {})
    walk(book.get("items", book.get("sections", [])), settings.get("source", "").rstrip("/"))
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
