"""Mathematics as MathML, which browsers draw themselves: no script, no font, no network.

Docstrings write formulas in the characters of a terminal, between dollar signs:
$∑_o max_w Pr[w, o]$. `to_latex` makes of them what a page can draw.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

SIGNS = {
    "∑": r"\sum", "∫": r"\int", "−": "-", "≤": r"\le", "≥": r"\ge", "‖": r"\|", "·": r"\cdot",
    "∞": r"\infty", "∈": r"\in", "⊥": r"\bot", "…": r"\ldots", "½": r"\tfrac{1}{2}", "⁻¹": "^{-1}",
    "⁻ᵀ": r"^{-\top}", "⁻": "^{-}", "⁺": "^{+}", "²": "^2", "ᵀ": r"^{\top}", "Ã": r"\tilde{A}",
    "Ĩ": r"\tilde{I}", "×": r"\times", "⪰": r"\succeq", "≠": r"\neq", "∘": r"\circ", "α*": r"α^{*}",
    "∝": r"\propto", "∃": r"\exists", "∼": r"\sim", "X̂": r"\hat{X}",
    "∏": r"\prod", "±": r"\pm",
}  # fmt: skip
FUNCTIONS = {"max", "min", "log", "ln", "sup", "det", "exp", "sin", "Pr"}
"""Words that mathematics sets upright; others are words."""
LONGEST = 25
"""Signs of a formula that fits into a line on any phone."""


def to_latex(formula: str) -> str:
    """Return a formula in the characters of a terminal as LaTeX."""
    formula = re.sub(r"√\(([^()]*(?:\([^()]*\)[^()]*)*)\)", r"√{\1}", formula)
    formula = re.sub(r"√(?!\{)([^\W_][^\W_]*)", r"√{\1}", formula).replace("√", r"\sqrt")
    formula = re.sub(r"_([A-Za-z0-9Α-ω]{2,})", r"_{\1}", formula)
    formula = re.sub(r"_{(max|min)}", r"_{\\\1}", formula)
    for sign, latex in SIGNS.items():
        formula = formula.replace(sign, f"{latex} " if latex.startswith("\\") else latex)
    return re.sub(r"(?<![\\\w])(?<!_\{)[A-Za-z]{2,}(?: [A-Za-z]{2,})*", _word, formula).strip()


def mark_formulas(text: str) -> str:
    """Return a docstring's formulas as roles, and those with lines of their own as directives.

    The bars of what is not a formula are absolute values, not substitutions.
    """
    words = text.split("$")  # every other one is a formula, which may span lines
    words[0::2] = [word.replace("|", "\\|") for word in words[0::2]]
    for k in range(1, len(words), 2):
        latex = to_latex(" ".join(words[k].split()))
        if re.search(r"\n +$", words[k - 1]) and words[k + 1][:1] == "\n":
            words[k - 1 : k + 1] = words[k - 1].rstrip(" "), f".. math:: {latex}\n"
        else:
            words[k] = f":math:`{latex}`"
    return "".join(words)


def _word(found: re.Match[str]) -> str:
    """Set the names of functions upright, and other words as text, each apart from letters."""
    before, after = found.string[: found.start()].rstrip()[-1:], found.string[found.end() :]
    left = before.isalnum() or before in (")", "]")
    right = after[:1] == " " and not re.match(r" +([=|+)-]|\\(le|ge|neq|in|cdot)\b)", after)
    pieces = []
    for known, group in groupby(found[0].split(), FUNCTIONS.__contains__):
        words = list(group)
        pieces += [rf"\{word} " for word in words] if known else [rf"\text{{{' '.join(words)}}}"]
    if pieces[-1].startswith(r"\text"):
        pieces[-1] = pieces[-1][:-1] + " " * right + "}"
    elif after[:1] == " " and after[1:2] not in ("(", "\\"):
        pieces.append("")
    if pieces[0].startswith(r"\text"):
        pieces[0] = pieces[0].replace("{", "{" + " " * left, 1)
    elif left:
        pieces.insert(0, "")
    return r"\, ".join(pieces)  # p log q, but log(q) and max_o


def write_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line; browsers break none, so a long one can scroll on a phone."""
    formula = tex2mathml(node.astext())
    if len(re.sub(r"<[^>]*>|\s", "", formula)) > LONGEST:
        formula = f'<span class="long-formula">{formula}</span>'
    translator.body.append(formula)
    raise nodes.SkipNode


def write_displayed(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    formula = tex2mathml(node.astext(), as_block=True)
    translator.body.append(f'<div class="math-block">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
