"""No text that people read has one of the phrases that make our English hard to read.

Each line that has one is printed with the plain words. A pattern finds little: what remains is to read the text.
"""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PHRASES = [
    (r"\bcan not\b", "cannot"),
    (r"\bso (long|often|many|much) (that it has|as it has|until it has)\b", "this long, this often, at most N"),
    (r"\b(after|for|only after|has lasted|has waited|wait|waits) so long\b(?! as)", "this long"),
    (r"\bafter so many\b", "after N"),
    (r"\bthan so many\b", "at most N"),
    (r"\b(ask|asks|asked|look|looks|try|tries) (again )?so often\b", "this often, at most N times"),
    (r"\bhands? on its arguments\b", "passes its arguments"),
    (r"\bin vain\b", "without an answer, without success"),
    (r"\bnobody has to have\b", "you never need"),
    (r"///\s+The same[,.]", "say what it does, without its neighbour"),
    (r"///\s+Its (index|name|number|kind|value|text)\.$", "say of what"),
    (r"\bhas taught you\b", "that you know from"),
    (r"\bWho (comes|wants|asks|needs)\b", "If you, or a caller that"),
]
TEXTS = {".md", ".swift", ".1", ".3", ".5", ".json", ".h", ".py", ".c", ".js", ".ts", ".sh", ""}


def files():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True, text=True).stdout.split("\0")
    return [TOP / name for name in names if name and pathlib.Path(name).suffix in TEXTS and name != "contrib/lint.d/voice.py"]


found = 0
for path in files():
    try:
        lines = path.read_text().splitlines()
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        continue
    for number, line in enumerate(lines, 1):
        for pattern, plain in PHRASES:
            if match := re.search(pattern, line):
                found += 1
                print(f"{path.relative_to(TOP)}:{number}: \"{match[0].strip()}\"; write: {plain}")
sys.exit(1 if found else 0)
