"""Draw the picture of the front page and the logo: python book/_ext/draw_cover.py

The picture is attention worked out with the course's own functions. Every word is described by its letters alone, so
that the reader can check with the eye why one word looks at another.
"""

from pathlib import Path

import numpy as np

from solutions.attention_weights import scaled_dot_scores, softmax

STATIC = Path(__file__).parents[1] / "_static"
SENTENCE = "the weights say where to look and the values say what to see"
CELL, GAP, LEFT, TOP = 26, 3, 76, 78

LOGO = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" role="img" aria-label="A small attention matrix">
{cells}
</svg>
"""

PICTURE = """\
<svg class="cover" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
     aria-label="Attention weights between the words of a sentence: {sentence}">
{body}
</svg>
"""


def describe_by_letters(words):
    """Count the letters a-z of every word, then standardise each letter over the sentence. Returns (T, 26)."""
    counts = np.array([[word.count(chr(letter)) for letter in range(ord("a"), ord("z") + 1)] for word in words], float)
    spread = counts.std(axis=0)
    return (counts - counts.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def picture(words, weights):
    """Draw the matrix as an SVG whose rows light up under the pointer; colours come from the page's style sheet."""
    step, body = CELL + GAP, []
    for i, word in enumerate(words):
        x = LEFT + i * step + CELL / 2
        body.append(f'<text class="word" transform="translate({x + 4:.0f},{TOP - 8}) rotate(-52)">{word}</text>')
    for t, query in enumerate(words):
        y = TOP + t * step
        row = [f'<text class="word" x="{LEFT - 8}" y="{y + CELL / 2 + 5:.0f}" text-anchor="end">{query}</text>']
        for i, key in enumerate(words):
            square = f'x="{LEFT + i * step}" y="{y}" width="{CELL}" height="{CELL}" rx="5"'
            row.append(f'<rect class="paper" {square}/>')
            title = f"<title>{query} looks at {key}: {weights[t, i]:.2f}</title>"
            row.append(f'<rect class="ink" {square} opacity="{weights[t, i] ** 0.7:.3f}">{title}</rect>')
        body.append('<g class="query">' + "".join(row) + "</g>")
    size = len(words) * step
    return PICTURE.format(width=LEFT + size, height=TOP + size, sentence=" ".join(words), body="\n".join(body))


def logo():
    """Draw a causal attention matrix of four positions: each attends to itself and the past."""
    weights = softmax(np.where(np.tri(4, dtype=bool), -0.55 * np.abs(np.subtract.outer(range(4), range(4))), -np.inf))
    cells = []
    for t in range(4):
        for i in range(4):
            square = f'x="{4 + 14.5 * i}" y="{4 + 14.5 * t}" width="12.5" height="12.5" rx="3"'
            colour = "#c8553d" if t == 3 and i == 0 else "#3b6ea8"
            strength = 1.0 if t == 3 and i == 0 else max(weights[t, i], 0.10)
            cells.append(f'  <rect {square} fill="{colour}" opacity="{strength:.2f}"/>')
    return LOGO.format(cells="\n".join(cells))


if __name__ == "__main__":
    words = SENTENCE.split()
    vectors = describe_by_letters(words)  # (T, 26)
    weights = softmax(scaled_dot_scores(vectors, vectors))  # (T, T)
    (STATIC / "cover.svg").write_text(picture(words, weights), encoding="utf-8")
    for name in ("logo.svg", "favicon.svg"):
        (STATIC / name).write_text(logo(), encoding="utf-8")
