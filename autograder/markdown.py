"""Turn the MyST of a chapter into plain Markdown, which every notebook front end shows."""

import re

ADMONITIONS = {"note": "Note", "tip": "Tip", "warning": "Warning"}
OPENING = re.compile(r"^(?P<fence>:{3,}|`{3,})\{(?P<name>[\w:-]+)\}[ ]*(?P<title>.*)$")
OPTION = re.compile(r"^:(?P<key>[\w-]+):[ ]*(?P<value>.*)$")
ROLE = re.compile(r"\{(?P<name>[\w:]+)\}`(?P<text>[^`]+)`")
FENCE = re.compile(r"^`{3,}(?=[^`]*$)")
# What the book would read and a notebook would show as it stands: fences, labels and comments of MyST.
NOT_PLAIN = re.compile(r"^(?:\s*:{3,}.*|\s*`{3,}\{.*|\(\S+\)=\s*|%.*|\+\+\+.*)$", re.MULTILINE)
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<path>[^)]*)\)")


def blocks(text):
    """Split the text of a markdown cell into (name, title, options, lines): directives, "code" and "text" between."""
    lines, plain, found = text.splitlines(), [], []
    position = 0
    while position < len(lines):
        opening, fence = OPENING.match(lines[position]), FENCE.match(lines[position])
        if not opening and not fence:
            plain.append(lines[position])
            position += 1
            continue
        if plain:
            found.append(("text", "", {}, plain))
            plain = []
        end = _closing(lines, position, opening["fence"] if opening else fence[0])
        if opening:
            found.append(_directive(opening, lines[position + 1 : end]))
        else:
            found.append(("code", "", {}, lines[position : end + 1]))
        position = end + 1
    return [*found, ("text", "", {}, plain)] if plain else found


def _directive(opening, body):
    options = {}
    while body and (option := OPTION.match(body[0])):
        options[option["key"]] = option["value"]
        body = body[1:]
    return opening["name"], opening["title"].strip(), options, body


def _closing(lines, start, fence):
    for number in range(start + 1, len(lines)):
        if lines[number].rstrip() == fence:
            return number
    raise ValueError(f"the block that starts with {lines[start]!r} is never closed")


class Plain:
    """Converts blocks; knows how to name what is cited and where a page is.

    citations: {key: (authors, year, full reference)}
    titles:    {page: its title}
    """

    def __init__(self, citations, titles):
        self.citations, self.titles, self.cited = citations, titles, []

    def passage(self, text):
        """Plain Markdown for a text that may hold directives."""
        return "\n\n".join(filter(None, (self.block(*each) for each in blocks(text))))

    def block(self, name, title, options, lines):
        """Plain Markdown for one block. Raises ValueError for a directive that has no plain form."""
        if name == "text":
            return self.inline("\n".join(lines)).strip("\n")
        if name == "code":
            return "\n".join(lines)
        if name == "bibliography":
            references = [f"- {self.citations[key][2]}" for key in sorted(set(self.cited))]
            return "\n".join(["**References**", "", *references]) if references else ""
        if name in ADMONITIONS or name == "admonition":
            heading = self.inline(title) or ADMONITIONS.get(name, "")
            quoted = [f"**{heading}**", "", *self.passage("\n".join(lines)).splitlines()]
            return "\n".join(f"> {line}".rstrip() for line in quoted)
        raise ValueError(f"a chapter cannot use the directive {name!r}: it has no plain form for the notebook")

    def inline(self, text):
        """The same text with roles and pictures in plain words. Raises ValueError for other MyST."""
        if odd := NOT_PLAIN.search(text):
            raise ValueError(f"a chapter cannot use {odd[0].strip()!r}: it has no plain form for the notebook")
        text = IMAGE.sub(lambda image: f"*(In the book: {image['alt']}.)*", text)
        return ROLE.sub(self._role, text)

    def _role(self, role):
        name, text = role["name"], role["text"]
        if name in ("cite:t", "cite:p", "cite"):
            keys = [key.strip() for key in text.split(",")]
            if missing := [key for key in keys if key not in self.citations]:
                raise ValueError(f"no reference has the key {missing[0]!r}")
            self.cited += keys
            pairs = [self.citations[key][:2] for key in keys]
            if name == "cite:t":
                return ", ".join(f"{authors} ({year})" for authors, year in pairs)
            return "(" + "; ".join(f"{authors}, {year}" for authors, year in pairs) + ")"
        if name == "doc":
            page = text.rsplit("/", 1)[-1]
            if page not in self.titles:
                raise ValueError(f"no page is called {page!r}")
            return f"*{self.titles[page]}*"
        raise ValueError(f"a chapter cannot use the role {name!r}: it has no plain form for the notebook")
