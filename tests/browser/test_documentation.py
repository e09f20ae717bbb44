"""The built documentation, as a browser shows it.

Needs a built site, in the folder that SFUMATO_SITE names, and Chromium; `.ci/run` has the first
always and the second where the machine does.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = os.environ.get("SFUMATO_SITE", "")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DESK, PHONE = (1280, 900), (390, 844)
PAGES = sorted(Path(SITE).resolve().rglob("*.html")) if SITE else []

LOOK = r"""() => {
  const words = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const inside = walker.currentNode.parentElement.closest('pre, code, script, style, math');
    if (!inside) words.push(walker.currentNode.textContent);
  }
  const all = (selector) => [...document.querySelectorAll(selector)];
  return {
    words: words.join(' '),
    quotes: all('blockquote').map((quote) => quote.innerText),
    quoted_code: all('blockquote pre, blockquote code').length,
    images: all('img').filter((image) => image.complete && image.naturalWidth === 0)
      .map((image) => image.src),
    flat_formulas: all('math').filter((formula) => formula.getBoundingClientRect().height < 4)
      .map((formula) => formula.textContent),
    unnamed_images: all('article img').filter((image) => !image.alt).map((image) => image.src),
    cut: all('article pre').filter((box) => box.scrollWidth > box.clientWidth + 1)
      .map((box) => box.innerText.slice(0, 60)),
    links: all('a[href]').map((link) => link.href),
    ids: all('[id]').map((marked) => marked.id),
  };
}"""


LOOK_AT_A_PHONE = r"""() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const width = (word, heading) => {
    const ruler = document.createElement('span');
    ruler.style.cssText = 'position: absolute; white-space: nowrap';
    ruler.style.font = getComputedStyle(heading).font;
    ruler.textContent = word;
    document.body.append(ruler);
    const found = ruler.getBoundingClientRect().width;
    ruler.remove();
    return found;
  };
  return [
    ...all('article math').filter((formula) => !formula.closest('.math-block, .long-formula'))
      .filter((formula) => formula.getBoundingClientRect().right > window.innerWidth
        && !formula.closest('table')),
    ...all('article pre').filter((box) => !box.closest('.output.text_html')
      && box.scrollWidth > box.clientWidth + 1),
    ...all('section > h1').filter((heading) => heading.firstChild.textContent.split(' ')
      .some((word) => width(word, heading) > heading.clientWidth)),
  ].map((cut) => cut.textContent.replace(/\s+/g, ' ').slice(0, 60));
}"""


@pytest.fixture(scope="module")
def browser():
    if not SITE:
        pytest.skip("SFUMATO_SITE names no built site (sphinx-build -b html docs SITE)")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def looks(browser):
    """Look at every page, at two widths: what is on it, what went wrong, how wide it is."""
    context = browser.new_context()
    context.set_offline(True)
    found = {}
    for page in PAGES:
        tab, look = context.new_page(), {"wrong": [], "asked": [], "wide": {}}
        tab.on("pageerror", lambda error, look=look: look["wrong"].append(str(error)))
        tab.on("request", lambda request, look=look: look["asked"].append(request.url))
        tab.on("requestfailed", lambda request, look=look: look["wrong"].append(request.url))
        for width, height in (DESK, PHONE):
            tab.set_viewport_size({"width": width, "height": height})
            if width == DESK[0]:
                tab.goto(page.as_uri())
                look |= tab.evaluate(LOOK)
            look["wide"][width] = tab.evaluate("document.documentElement.scrollWidth")
        look["cut_on_a_phone"] = tab.evaluate(LOOK_AT_A_PHONE)
        tab.close()
        found[page] = look
    context.close()
    return found


def _of_pages(looks, faults):
    """Return what is wrong, by page; pages without a fault are left out."""
    named = {page.relative_to(Path(SITE).resolve()).as_posix(): page for page in looks}
    found = {name: faults(page, looks[page]) for name, page in named.items()}
    return {name: wrong for name, wrong in found.items() if wrong}


def test_there_are_pages(looks):
    names = {page.name for page in looks}
    assert {"index.html", "concepts.html", "first-steps.html", "renyi.html"} <= names


def test_no_blockquote_holds_code(looks):
    def faults(page, look):
        code = [quote for quote in look["quotes"] if re.search(r">>>|import |\bsf\.|```", quote)]
        return code or look["quoted_code"]

    assert _of_pages(looks, faults) == {}


def test_examples_are_code_and_not_prose(looks):
    assert _of_pages(looks, lambda _, look: re.findall(r".{0,30}>>>.{0,30}", look["words"])) == {}


def test_no_latex_is_left_raw(looks):
    raw = re.compile(r"\\[a-zA-Z]{2,}|\$[^$\s][^$]*[\\_^][^$]*\$")
    assert _of_pages(looks, lambda _, look: raw.findall(look["words"])) == {}
    assert _of_pages(looks, lambda _, look: look["flat_formulas"]) == {}


def test_no_formula_is_left_in_plain_letters(looks):
    plain = re.compile(r".{0,20}(?<!\w)[A-Za-zΑ-ω∑∏]_(?:[A-Za-z0-9]{1,2}\b|\{).{0,20}")
    assert _of_pages(looks, lambda _, look: plain.findall(look["words"])) == {}


def test_properties_are_not_taken_for_types(looks):
    assert _of_pages(looks, lambda _, look: re.findall(r"Type:.{0,40}", look["words"])) == {}


def test_every_image_is_there_and_has_a_name(looks):
    assert _of_pages(looks, lambda _, look: look["images"] + look["unnamed_images"]) == {}


def test_every_link_leads_somewhere(looks):
    def faults(page, look):
        broken = []
        for link in look["links"]:
            parts = urlsplit(link)
            target = Path(unquote(parts.path))
            if parts.scheme != "file":
                continue
            inside = looks.get(target)
            lost = inside is not None and parts.fragment not in {"", *inside["ids"]}
            if not target.exists() or lost:
                broken.append(link)
        return broken

    assert _of_pages(looks, faults) == {}


@pytest.mark.parametrize("width", [DESK[0], PHONE[0]], ids=["desk", "phone"])
def test_no_page_is_wider_than_its_window(looks, width):
    def faults(page, look):
        return look["wide"][width] if look["wide"][width] > width else None

    assert _of_pages(looks, faults) == {}


def test_no_line_of_code_is_cut_at_a_desk(looks):
    assert _of_pages(looks, lambda _, look: look["cut"]) == {}


def test_no_number_formula_or_name_is_cut_on_a_phone(looks):
    assert _of_pages(looks, lambda _, look: look["cut_on_a_phone"]) == {}


def test_nothing_goes_wrong_and_nothing_is_asked_of_a_network(looks):
    def faults(page, look):
        return look["wrong"] + [
            url for url in look["asked"] if not url.startswith(("file:", "data:"))
        ]

    assert _of_pages(looks, faults) == {}
