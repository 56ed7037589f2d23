"""Cleaning of texts for rules: removes markup, layout and invisible characters, and unifies letters and quotes."""

from __future__ import annotations

import html
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator

PARAGRAPH = "\u2029"  # separates paragraphs in a cleaned text
Change = tuple[int, int, str]  # start, end, replacement

_ENTITY = re.compile(r"&(?:amp;)*(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,30});")
_COMMENT = re.compile(
    # A match cannot extend past the next opening, so many openings without an end take linear time.
    r"<!--(?:(?!<!--).)*?-->|<ref\b[^<>]*/>|<(script|style|ref)\b[^<>]*>(?:(?!<\1\b).)*?</\1\s*>"
    r"|\{\\(?!(?:it|bf|em|sc|tt|rm|sl|itshape|bfseries)\s)[^{}\n]{1,60}\}|\{\{[^{}]{0,500}\}\}",
    re.DOTALL | re.IGNORECASE,
)
_INLINE = "a abbr b big br center cite del em font i img ins mark q s small span strike strong sub sup tt u var wbr"
_BLOCK = (
    "address article aside blockquote body caption dd div dl dt footer form h1 h2 h3 h4 h5 h6 head header hr html li "
    "main nav ol option p pre section select table tbody td th thead title tr ul"
)
_TAG = re.compile(rf"</?({'|'.join([*_INLINE.split(), *_BLOCK.split()])})(?:\s[^<>]{{0,2000}})?/?>", re.IGNORECASE)
_BREAKS = {"br": "\n", **dict.fromkeys(_BLOCK.split(), "\n\n")}

# Tags in brackets, as in forums; the closing tag must occur as well.
_BRACKETED = re.compile(
    r"\[/?(b|i|u|s|url|size|colou?r|font|sup|sub|spoiler|quote|center|indent|list)(?:=[^\[\]\n]{1,300})?\]",
    re.IGNORECASE,
)
_BRACKETED_BLOCKS = frozenset(("quote", "center", "indent", "list"))
# A letter changed in a quotation: *[S]he left*; in lower case it would be *s/he*.
_QUOTED_LETTER = re.compile(r"(?<!\w)(\[)[A-Z](\])(?=[a-z])|(?<!\w)(\[)[a-rt-z](\])(?=[a-z])")
_WIKI = re.compile(
    r"(?:(?<=\s)|(?<=[(\[])|(?<=\A))('{2,3})(?=[^\s'])(?:[^\n]|\n(?!\s)){1,400}?(?<=[^\s'])(\1)(?!')"
    r"|(\[\[(?:[^\[\]|\n]{1,200}\|)?)[^\[\]|\n]{1,200}(\]\])"
)

# TeX: commands without text, commands and switches around words, ties, and escaped signs.
_TEX_SILENT = re.compile(
    r"~?\\(?:[a-z]*cite[a-z]*|(?:page|eq|auto|name)?ref|label|index|[hv]space|includegraphics|input|bibliography)\*?"
    r"(?:\[[^\]\n]{0,100}\])*\{[^{}\n]{0,300}\}"
)
_TEX_BLOCK = re.compile(r"\\(?:begin|end)\{[a-zA-Z]{1,30}\*?\}|\\(?:item|par|maketitle|noindent|newpage)\b")
_TEX_AROUND = re.compile(
    r"(\\(?:text[a-z]{2,6}|emph|underline|uline|mbox|enquote|footnote)"
    r"\{)[^{}\n]{1,1000}(\})|(\{\\(?:it|bf|em|sc|tt|rm|sl|itshape|bfseries)\s+)[^{}\n]{1,1000}(\})"
)
_TEX_HEADING = re.compile(r"(\\(?:(?:sub)*section|chapter|title|author|caption)\*?\{)[^{}\n]{1,1000}(\})")
_TEX_ACCENT = re.compile(
    r"(?<=[^\W\d_])\{?\\(?:(['\"`^])\{?([aeiouAEIOU])|(~)\{?([nao]))\}{0,2}"  # the é of José
)
_ACCENTS = {"'": "\u0301", '"': "\u0308", "`": "\u0300", "^": "\u0302", "~": "\u0303"}
_TEX_TIE = re.compile(r"(?<=[^\W\d_])~(?=[^\W\d_])|(?<=[A-Za-z]\.)~(?=[A-Z])")
# Escaped white space, quotes and letters, as in program code, except the first letters of TeX commands.
_ESCAPED = re.compile(
    r"(?<![A-Za-z]:)(?:\\r\\n|\\[nrtN])(?!(?:u|eq?|ot|abla|ormalsize|ew[a-z]+|oindent|o|op|au|imes|heta|ilde|iny|t|itle|frac"
    r"|able[a-z]+|ext[a-z]*|ho|ight|ef|m|aisebox|enewcommand)\b)|\\\\(?=\s|\Z)|\\[\"'/&%$#_{}*]|\\u[0-9a-fA-F]{4}"
)
_WHITE = {"n": "\n", "N": "\n", "r": "\n", "t": "\t", "\\": "\n"}

_CLUSTER = re.compile(r"[^\W\d_][\u0300-\u036f]+")
_CIRCLED = re.compile(r"[\u24b6-\u24e9]{2,}")  # a single circled letter serves as a picture
_VARIANT = re.compile(r"[\ufb00-\ufb06\uff01-\uff5e\u2102-\u2121\u2123-\u2138\u24b6-\u24e9\U0001d400-\U0001d7ff]")
_NOTE = re.compile(r"(?<=[^\W\d_])[\u00b9\u00b2\u00b3\u2070-\u2089™®]+")
_STAR = re.compile(r"(?<=[^\W\d_])(?:\*{1,3}|[†‡]{1,3})(?=[\s.,;:!?)]|\Z)|(?:(?<=\s)|(?<=\A))\*{1,3}(?=[^\W\d_])")
_FOOTNOTE = re.compile(
    r"(?<=[^\s\[(])\[(?:\d{1,3}|(?i:note \d{1,2}|citation\s+needed))\](?!\()|(?<=[\w.,;:!?)])\[[a-z]\](?![(a-z])"
)
_SOFT_BREAK = re.compile(r"\u00ad[ \t]*\r?\n[ \t]*")
_UNSEEN = re.compile(r"[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")
_PICTURE = re.compile(
    r"(?:[\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\U000e0020-\U000e007f\ufe0e\ufe0f\u20e3]\u200d?)+"
)
# Signs that are written in several ways: quotes, apostrophes, hyphens and slashes, and full-width ones, after which no
# blank is written.
_SIGNS = {
    **dict.fromkeys("’‘ʼ‛＇‹›´′", "'"),
    **dict.fromkeys("“”„‟«»「」『』〝〞〟″", '"'),
    **dict.fromkeys("‐‑", "-"),
    **dict.fromkeys("⁄∕", "/"),
    **{sign: f"{plain} " for sign, plain in zip("。，、！？；：", ".,,!?;:", strict=True)},
}
_SIGN = re.compile(f"[{''.join(_SIGNS)}]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufffc\ufffd]+")

_QUOTED = re.compile(r"(?:[ \t]{0,3}>)+[ \t]?")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+")
_BULLET = re.compile(r"[ \t]*(?:[-*+·–—][ \t]+|[•‣][ \t]*|[-–—](?=[^\W\d_]))")
_NARROWEST = 20  # minimum length of the longest line in a wrapped text
_OPENS = re.compile(r"[\"'(*_]*[A-Z]")
_RULE = re.compile(r"[ \t]*(?:[-=*_~#][ \t]*){3,}$")
_CUE = re.compile(r"\s*(?:\d{1,2}:)?\d{1,2}:\d{2}[.,]\d{1,3} --> .*$")
# A hyphen at the end of a line before one of these words is a dash.
_HYPHENATED = re.compile(
    r"\b([A-Za-z]+(?:-[A-Za-z]+)*)-[ \t]*\r?\n[ \t]*"
    r"(?=[a-z])(?!(?:the|and|but|if|for|with|that|they|she|which|who|when|because)\b)"
)
# After these, a hyphen at the end of a line belongs to the word: *ex-wife*, *step-mother*.
_HYPHEN_STAYS = frozenset("ex half step great grand non anti pro co mid all self well year".split())

_EMPHASIS = re.compile(
    r"(?<![\w*])(\*{1,3})(?=[^\s*])(?:(?:[^*\n]|\n(?!\s)){1,400}?)(?<=[^\s*])(\1)(?![\w*])"
    r"|(?<!\w)(_{1,3})(?=[^\s_])(?:(?:[^_\n]|\n(?!\s)){1,400}?)(?<=[^\s_])(\3)(?!\w)"
    r"|(?<!\w)(~~)(?=\S)(?:[^~\n]{1,400}?)(?<=\S)(\5)(?!\w)"
)
_LINK = re.compile(r"(!?\[)[^\[\]\n]{1,400}(\]\([^()\s]{1,2000}\))")
# Patterns of marks around words, each with strings: every match contains at least one of them.
_MARKS = ((_EMPHASIS, "*_~"), (_LINK, "["), (_WIKI, ("''", "[[")), (_QUOTED_LETTER, "["))

# Short forms for two words: pronouns with a slash, and nouns with an ending in brackets.
_BOTH = re.compile(
    r"(?<!\w)(?:(?P<three>(?:he/she|she/he|s/he)/they)|(?P<stroke>s/he|\(s\)he|\[s\]he|s\(he\))|(?P<after>he\(she\)|she\(he\)|his\(her\)|her\(his\)|him\(her\)"
    r"|her\(him\))|(?P<self>(?:him|her)/(?:him|her)self|(?:him|her)self/(?:him|her)self)"
    r"|(?P<woman>\(wo\)m[ae]n|wo/m[ae]n|\(fe\)males?|fe/males?)|(?P<friend>boy/girlfriends?|girl/boyfriends?)"
    r"|(?P<title>mr\(s\)|m\(r\)s)|(?P<ending>[a-z]{3,}\((?:ess|ss|ine)(?:es)?\)))(?!\w)",
    re.IGNORECASE,
)
_MAY_BE_BOTH = re.compile(r"/|[(\[][eEfFhHiIrRsSwW]")  # occurs in every match of the previous pattern
_ALTERNATIVE = re.compile(
    r"\b(?:s?he|him|hers?|his|himself|herself)(\s?/\s?)(?=(?:s?he|him|hers?|his|himself|herself)\b)", re.IGNORECASE
)

# Cells with numbers next to a cell with several words, and tags after the last sentence: not part of a sentence.
_CELL = re.compile(
    r"(?:(?<=\n)|\A)\d[\d.,%]*(\t)(?=[^\t\n ]+ )|(?:(?<=\n)|\A)\d[\d.%]*([,;])(?=\"?[^\W\d_])"
    r"|(?<=[^\W\d_.])([,;])(?=\d[\d.,;%]*(?:\r?\n|\Z))"
    r"|(?:(?<=\n)|(?<=\t)|\A)[^\t\n ]+ [^\t\n]*(\t)(?=\d[\d.,%]*(?:\t|\r?\n|\Z))"
)
_TAGS = re.compile(r"[ \t]+(?=#\w+(?:[ \t]+#\w+)*[ \t]*(?:\r?\n|\Z))")

# A large first letter, separated from the rest of its pronoun.
_INITIAL = re.compile(r"(?:(?<=\A)|(?<=\n))(?:S(\s+)he|H(\s+)(?:er|is|e))\b", re.IGNORECASE)

_SPACE = re.compile(r"\s{2,}|[^\S ]|\A\s|\s\Z")  # everything except single blanks between words
_LINE_END = re.compile(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
# Characters that are separated from a word by a blank, because parsers do not split them off.
_GLUE = re.compile(
    r"(?<=\w)(?=[\\^|~=+%$§¶†‡©·•])|(?<=[\\^|~=+§¶†‡©·•])(?=\w)|(?<=\w)(?=-(?:\s|$))|(?:(?<=\s)|(?<=^))-(?=\w)"
    r"|(?<=[^\W\d_]{2})(?=[(\[{]\w)|(?<=\w[!?;)\]}\"])(?=[^\W\d_]{2})|(?<=[.,!?])(?=\[)|(?<=\w\w\.)(?=[A-Z][a-z])"
    r"|(?<=[^\w\s]--)(?=\w)"
)
# Signs next to which a blank may be missing.
_MAY_GLUE = re.compile(r"[\\^|~=+%$§¶†‡©·•(\[{!?;)\]}\"-]|\.(?=[A-Z\[])|,(?=\[)")
_ADDRESS = re.compile(r"\S*(?:://|www\.)\S*|[\w.+-]+@[\w.-]+|`[^`]*`|\S+\.\w+/\S*")


class Draft:
    """Text during cleaning, with the position of every character in the original."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts, self.ends = array("q"), array("q")  # empty until the first change

    def change(self, changes: Iterable[Change]) -> None:
        """Apply changes, given from left to right. Text inserted between two characters maps to an empty span."""
        pieces: list[str] = []
        starts, ends = array("q"), array("q")
        position = 0
        for start, end, new in changes:
            if start < position or self.text[start:end] == new:
                continue
            if not self.starts:
                self.starts, self.ends = array("q", range(len(self.text))), array("q", range(1, len(self.text) + 1))
            pieces += [self.text[position:start], new]
            if new:
                first = self.starts[start] if start < len(self.text) else (self.ends[-1] if self.ends else 0)
                last = max(first, self.ends[end - 1]) if end > start else first
                starts += self.starts[position:start] + array("q", [first]) * len(new)
                ends += self.ends[position:start] + array("q", [last]) * len(new)
            else:
                starts += self.starts[position:start]
                ends += self.ends[position:start]
            position = end
        if pieces:
            self.text = "".join([*pieces, self.text[position:]])
            self.starts, self.ends = starts + self.starts[position:], ends + self.ends[position:]

    def replace(self, pattern: re.Pattern[str], new: str | Callable[[re.Match[str]], str]) -> None:
        """Replace all matches of a pattern."""
        self.change(
            (*match.span(), new if isinstance(new, str) else new(match)) for match in pattern.finditer(self.text)
        )


def clean(text: str) -> tuple[str, array[int], array[int]]:
    """Return the cleaned text and, for each of its characters, the start and end position in the original.

    White space becomes one blank, or :data:`PARAGRAPH` between paragraphs. HTML tags, Markdown emphasis and links,
    markers of quoted mail and of lists, and invisible characters are removed. Entities, ligatures and similar
    characters become letters, and quotation marks and apostrophes become straight. A blank is inserted between a word
    and characters that a parser does not split off.
    """
    draft = Draft(text)
    if "&" in text:
        draft.replace(_ENTITY, lambda match: html.unescape(html.unescape(match[0])))
    if "\\" in text:
        _clean_code(draft)
    if "<" in draft.text or "{" in draft.text:
        draft.replace(_COMMENT, "")
        draft.replace(_TAG, lambda match: _BREAKS.get(match[1].lower(), ""))
    if not draft.text.isascii():
        _clean_letters(draft)
    if not (draft.text.isascii() and draft.text.isprintable()):
        draft.replace(_CONTROL, " ")
    if not draft.text.isprintable() or draft.text[:1] in "hHsS":
        draft.change((*match.span(match.lastindex or 0), "") for match in _INITIAL.finditer(draft.text))
    if "\t" in draft.text or (
        (draft.text[:1].isdigit() or not draft.text.isprintable())
        and re.search(r"^\d[\d.%]*[,;]", draft.text, re.MULTILINE)
    ):
        draft.change((*match.span(match.lastindex or 0), PARAGRAPH) for match in _CELL.finditer(draft.text))
    if "#" in draft.text:
        draft.replace(_TAGS, PARAGRAPH)
    if draft.text[:1] in "->*+#•–— \t" or (not draft.text.isprintable() and _LINE_END.search(draft.text)):
        draft.change(list(_line_starts(draft.text)))
        draft.change(_join_word(match) for match in _HYPHENATED.finditer(draft.text))
    if "[" in draft.text:
        draft.replace(_FOOTNOTE, "")
        draft.change(_remove_bracketed(draft.text))
    _clean_marks(draft)
    if _MAY_BE_BOTH.search(draft.text):
        draft.replace(_BOTH, _expand_both)
        if "/" in draft.text:
            draft.change((*match.span(1), "/") for match in _ALTERNATIVE.finditer(draft.text))
    if not draft.text.isprintable() or "  " in draft.text or draft.text.strip(" ") != draft.text:
        draft.replace(_SPACE, lambda match: _space(match, len(draft.text)))
    draft.change(_separate_signs(draft.text))
    return draft.text, draft.starts, draft.ends


def _separate_signs(text: str) -> Iterator[Change]:
    """Yield changes that separate words by a blank from signs that a parser does not split off, except in addresses."""
    kept = (
        [match.span() for match in _ADDRESS.finditer(text)]
        if any(sign in text for sign in ("/", "www.", "@", "`"))
        else []
    )
    places = dict.fromkeys(place for sign in _MAY_GLUE.finditer(text) for place in sign.span())
    for match in filter(None, (_GLUE.match(text, place) for place in places)):
        if not any(start <= match.start() < end for start, end in kept):
            yield *match.span(), match[0] + " "


def _clean_letters(draft: Draft) -> None:
    """Compose letters with their accents, normalize letter variants and quotes, and remove invisible characters."""
    draft.replace(_SOFT_BREAK, "")
    draft.replace(_CIRCLED, lambda match: unicodedata.normalize("NFKC", match[0]))
    draft.replace(_PICTURE, " ")
    draft.replace(_UNSEEN, "")
    if not unicodedata.is_normalized("NFC", draft.text):
        draft.replace(_CLUSTER, _compose)
    draft.replace(_SIGN, lambda match: _SIGNS[match[0]])
    draft.replace(_VARIANT, lambda match: unicodedata.normalize("NFKC", match[0]))
    draft.replace(_NOTE, "")


def _clean_marks(draft: Draft) -> None:
    """Remove Markdown and wiki markup around words, asterisks next to words, and TeX ties (``~``)."""
    for pattern, signs in _MARKS:
        if any(sign in draft.text for sign in signs):
            draft.change(_marks(pattern, draft.text))
    if any(sign in draft.text for sign in "*†‡"):
        draft.replace(_STAR, "")
    if "~" in draft.text:
        draft.replace(_TEX_TIE, " ")


def _clean_code(draft: Draft) -> None:
    """Remove TeX commands, and convert escaped white space, quotes and letters from program code."""
    draft.replace(_TEX_SILENT, "")
    draft.replace(_TEX_BLOCK, "\n\n")
    draft.change(_marks(_TEX_HEADING, draft.text, "\n\n"))
    draft.change(_marks(_TEX_AROUND, draft.text))
    draft.replace(_TEX_ACCENT, lambda match: _add_accent(*filter(None, match.groups())))
    draft.replace(_ESCAPED, _unescape)


def _add_accent(mark: str, letter: str) -> str:
    """Return a letter with the accent that a TeX sign denotes."""
    return unicodedata.normalize("NFC", letter + _ACCENTS[mark])


def _unescape(match: re.Match[str]) -> str:
    """Return the white space, sign or letter that an escape sequence denotes."""
    code = match[0][1:]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    return "\n" if len(code) > 1 else _WHITE.get(code, code)


def _remove_bracketed(text: str) -> Iterator[Change]:
    """Yield changes that remove bracketed tags for which the text has a closing tag."""
    if "[/" not in text:
        return
    lower = text.lower()
    for match in _BRACKETED.finditer(text):
        kind = match[1].lower()
        if f"[/{kind}]" in lower:
            yield *match.span(), "\n\n" if kind in _BRACKETED_BLOCKS else ""


def _compose(match: re.Match[str]) -> str:
    made = unicodedata.normalize("NFC", match[0])
    return "".join(sign for sign in made if not unicodedata.combining(sign))


def _line_starts(text: str) -> Iterator[Change]:
    """Yield changes that remove the markers at the starts of lines, and begin a paragraph if a marker implies one."""
    depth, before, start, titled = 0, "", 0, False
    lines = text.splitlines(keepends=True)
    longest = max(map(len, lines), default=0) - 1
    for number, line in enumerate(lines):
        quoted = _QUOTED.match(line)
        end = quoted.end() if quoted else 0
        deeper = quoted[0].count(">") if quoted else 0
        bare = line[end:].rstrip()
        begins = (deeper != depth and bool(before)) or titled
        if _RULE.match(bare) or _CUE.match(bare) or (bare.strip().isdigit() and _next_is_cue(text, start + len(line))):
            yield start, start + end + len(bare), "\n\n"
        else:
            heading = _HEADING.match(line, end)
            titled = heading is not None
            bullet = _BULLET.match(line, end)
            if heading:
                end, begins = heading.end(), True
            elif bullet and (
                not before
                or before[-1] in ".!?:;\"'"
                or (_OPENS.match(line, bullet.end()) and not _is_dash(lines, number, longest))
            ):
                end, begins = bullet.end(), True
            if begins or end:
                yield start, start + end, "\n\n" if begins and before else ""
        depth, before, start = deeper, bare, start + len(line)


def _is_dash(lines: list[str], number: int, longest: int) -> bool:
    """Return whether the dash that begins a line belongs to a sentence: the line before is full and not a list item."""
    before, after = lines[number - 1], "".join(lines[number + 1 : number + 2])
    if longest < _NARROWEST or _BULLET.match(before) or _BULLET.match(after):
        return False
    return len(before.rstrip()) + len(" ".join(lines[number].split(None, 2)[:1])) + 1 > longest


def _next_is_cue(text: str, start: int) -> bool:
    """Return whether the next line has the times of a subtitle."""
    return bool(re.compile(r".*-->").match(text, start))


def _join_word(match: re.Match[str]) -> Change:
    """Return the change that joins a word split over two lines, keeping a hyphen that belongs to the word."""
    own = "-" in match[1] or match[1].lower() in _HYPHEN_STAYS
    return match.end(1), match.end(), "-" if own else ""


def _marks(pattern: re.Pattern[str], text: str, new: str = "") -> Iterator[Change]:
    """Yield changes that replace the opening and closing marks matched by a pattern."""
    for match in pattern.finditer(text):
        for group in range(1, len(match.groups()) + 1):
            if match[group] is not None:
                yield *match.span(group), new


def _expand_both(match: re.Match[str]) -> str:
    """Expand a short form, such as *s/he*, to both words joined by a slash, in the case of the short form."""
    found = match[0].lower()
    if match["stroke"]:
        made = "she/he"
    elif match["after"]:
        made = found.replace("(", "/").rstrip(")")
    elif match["self"]:
        made = "/".join(f"{word.removesuffix('self')}self" for word in found.split("/"))
    elif match["title"]:
        return "MR/MRS" if match[0].isupper() else "Mr/Mrs"
    elif match["friend"]:
        first, second = found.split("/")
        made = f"{first}{second[second.index('friend') :]}/{second}"
    elif match["ending"]:
        stem, ending = found.rstrip(")").split("(")
        made = f"{stem}{'s' if ending.endswith('es') else ''}/{stem}{ending}"
    elif match["woman"]:
        prefix, rest = found.replace("(", "").replace(")", "/").split("/")
        made = f"{prefix}{rest}/{rest}"
    else:
        made = "/".join(found.removesuffix("/they").replace("s/he", "she/he").split("/"))
    letters = [sign for sign in match[0] if sign.isalpha()]
    if all(map(str.isupper, letters)) and len(letters) > 1:
        return made.upper()
    return made[0].upper() + made[1:] if letters[0].isupper() else made


def _space(match: re.Match[str], length: int) -> str:
    """Return the replacement of white space: empty at the ends of a text, otherwise a paragraph sign or a blank."""
    if match.start() == 0 or match.end() == length:
        return ""
    return PARAGRAPH if PARAGRAPH in match[0] or len(_LINE_END.findall(match[0])) > 1 else " "
