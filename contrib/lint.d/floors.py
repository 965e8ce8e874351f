"""Folders of a module use only the folders below them.

contrib/lint.d/floors.json lists the folders of the large modules, the lowest first, and the circles of files that are allowed to
stay, each with its reason. It is an error if a file uses a type of a higher folder, if more than two files use one another in
a circle, or if a folder is missing from the list. Each error is one line; the exit status is 1 if there is one, else 0.

A use is a name of a type in the code, without comments and strings, so two types of a module should not share a name.
"""
import json
import pathlib
import re
import sys

TYPE = re.compile(r"^(?:@\S+\s+|\w+(?:\(\w+\))?\s+)*?(?:class|struct|enum|protocol|actor|typealias)\s+(\w+)", re.M)
TEXT = re.compile(r'"""[\s\S]*?"""|/\*[\s\S]*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"')
TOP = pathlib.Path(__file__).resolve().parent.parent.parent


def uses_of(module):
    """For each file of a module, the files whose types it names. The code of a tutorial is text."""
    code = {path.relative_to(module).as_posix(): TEXT.sub(" ", path.read_text()) for path in module.rglob("*.swift")
            if not any(parent.suffix == ".docc" for parent in path.parents)}
    home = {name: file for file, text in code.items() for name in TYPE.findall(text)}
    words = {file: set(re.findall(r"\b[A-Z]\w*", text)) for file, text in code.items()}
    return {file: {home[word] for word in words[file] & home.keys()} - {file} for file in code}


def circles_of(uses):
    """The sets of files that use one another, by Tarjan's algorithm."""
    order, low, path, found = {}, {}, [], []

    def visit(file):
        order[file] = low[file] = len(order)
        path.append(file)
        for other in uses[file]:
            if other not in order:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in path:
                low[file] = min(low[file], order[other])
        if low[file] == order[file]:
            start = path.index(file)
            found.append(set(path[start:]))
            del path[start:]

    for file in uses:
        if file not in order:
            visit(file)
    return [circle for circle in found if len(circle) > 1]


def faults_of(module, floors, allowed):
    uses = uses_of(module)
    for circle in circles_of(uses):
        if len(circle) > 2 and circle not in allowed:
            yield "these files use one another: " + ", ".join(sorted(circle))
    if not floors:
        return
    height = {folder: number for number, folder in enumerate(floors)}
    folder_of = {file: file.rpartition("/")[0].partition("/")[0] for file in uses}
    for folder in sorted(set(folder_of.values()) - height.keys()):
        yield f"the folder {folder or 'of the module itself'} is not in contrib/lint.d/floors.json"
    for file, others in sorted(uses.items()):
        for other in sorted(others):
            if height.get(folder_of[other], 0) > height.get(folder_of[file], len(height)):
                yield f"{file} uses {other}, which stands on a higher floor"


def main():
    plan = json.loads((TOP / "contrib/lint.d/floors.json").read_text())
    faults = []
    for module in sorted(path for path in (TOP / "Sources").iterdir() if path.is_dir()):
        allowed = [set(circle["files"]) for circle in plan["allowed"] if circle["module"] == module.name]
        faults += [f"{module.name}: {fault}" for fault in faults_of(module, plan["floors"].get(module.name), allowed)]
    print("\n".join(faults) or f"The floors of {len(plan['floors'])} modules are as contrib/lint.d/floors.json says.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
