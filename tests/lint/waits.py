#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""waits.py [SOURCE-ROOT]: WAITS marks what gives control away, and nothing else
(doc/design/tasks.md).  Prints TAP.

A function that calls one that waits is marked: at its prototype in the header,
or `static WAITS`.  A call through a pointer waits if the member, the parameter
or the typedef of the pointer is marked; a function that waits may only be put
where there is a mark.  The lint knows the type of most expressions; where it
does not, all members of that name have to agree."""
import collections
import os
import sys

sys.dont_write_bytecode = True
import csource  # noqa: E402
import tree  # noqa: E402

# Where control is really handed over; all other marks follow from these.
ROOTS = {
    "park": "gives control to the loop and sleeps until the task is resumed",
    "task_enter": "sleeps until the loop gives control back",
}

# (file, function, what it calls or fills): why this needs no mark.
EXCEPTIONS = {
    ("lib/ssh/ssh_login.c", "try_agent_key",
     "what libssh2_userauth_publickey() takes"):
        "a callback of libssh2, in the task that calls libssh2",
    ("lib/event/task.c", "run_killable", "fn"):
        "the bottom of a task's stack: nobody waits for its return",
    ("masterd/luxi/luxi_calls.c", "dispatch", "run_method"):
        "waits() has said that this call does not wait",
    ("masterd/main.c", "may_drop", "frames_ask"):
        "there is no task yet, so it blocks",
    ("masterd/main.c", "ask_to_make_way", "frames_ask"):
        "there is no task yet, so it blocks",
    ("masterd/query/query.c", "query_is_short", "query_needs_wait"):
        "the filter is small, so compile_filter() stays here",
    ("masterd/query/query_rows.c", "take_beside", "take"):
        "the row is its own, so query_row_matches() stays here",
}

# Marks into which nothing that waits is put here.
UNUSED = {
    "tasks_set_came_in(fn)": "the simulation, which is in tests/, waits there",
    "came_in": "as tasks_set_came_in()",
    "adopt": "the state of a test of the log waits there",
}

# Programs without a loop: there is nothing to which control could be given.
TASKLESS = ("iallocators/", "noded/impexp/")

COMPARISONS = ("==", "!=", "&&", "||", "!")
CONTROLS = ("if", "while", "for", "switch")


class Frame:
    """An open bracket: what it is, and where in it we are."""

    def __init__(self, what, callee=None, kind=None):
        self.what, self.callee, self.kind = what, callee, kind
        self.index = 0          # how many commas ago it began
        self.target = None      # the Kind to which a value is assigned
        self.returns = False    # behind the word return


class Marks:
    """All marks of the tree, and what is known about types."""

    def __init__(self, sources):
        # By what sees the names: a file, or a program (its headers).
        self.functions = collections.defaultdict(dict)
        self.layouts = collections.defaultdict(dict)
        self.globals = collections.defaultdict(dict)
        self.by_name = collections.defaultdict(list)
        self.wrong = []
        for source in sources:
            place = source.path
            if place.endswith(".h"):
                place = program(place)
            self.layouts[place].update(source.layouts)
            for kind, _ in source.members:
                if kind.pointer:
                    self.by_name[kind.name].append(kind)
            for variable in source.variables:
                self.globals[place][variable.kind.name] = variable.kind
        for source in sources:
            for function in source.functions:
                self.add(function)

    def add(self, function):
        path = function.path
        place = path if function.static and path.endswith(".c") \
            else program(path)
        first = self.functions[place].setdefault(function.name, function)
        at = f"{path}:{function.line}: {function.name}()"
        before = f"{first.path}:{first.line}"
        if function.waits and not first.waits:
            self.wrong.append(f"{at} is marked here and not at {before}")
        elif function.static and first.waits != function.waits:
            self.wrong.append(f"{at} is not marked here but at {before}")
        if pointer_marks(function) != pointer_marks(first):
            self.wrong.append(f"{at} has other marks in its parameters than "
                              f"at {before}")

    def find(self, tables, path, name):
        """What path means by the name: its own, its program's, a library's."""
        for place in (path, program(path)) + tree.TOPS:
            if name in tables[place]:
                return tables[place][name]
        return None

    def function(self, path, name):
        return self.find(self.functions, path, name)

    def variable(self, path, name):
        return self.find(self.globals, path, name)

    def member(self, path, struct, name):
        """Its Kind; of all that have this name if the struct is unknown."""
        layout = self.find(self.layouts, path, struct) if struct else None
        for kind in layout or ():
            if kind.name == name:
                return kind
            if kind.name is None and kind.struct:
                found = self.member(path, kind.struct, name)
                if found and found.struct != "?":
                    return found
        kinds = self.by_name.get(name)
        if layout or not kinds:
            return None
        if len({kind.waits for kind in kinds}) == 1:
            return kinds[0]
        return kinds[0]._replace(struct="?")


def pointer_marks(function):
    return [kind.waits for kind in function.parameters if kind.pointer]


def program(path):
    return path.split("/", 1)[0]


class Reader:
    """Reads one body or initialiser for calls and for functions as values."""

    def __init__(self, marks, source, tokens, function=None, used=None):
        self.marks, self.source, self.tokens = marks, source, tokens
        self.function, self.used = function, used
        self.path, self.typedefs = source.path, source.typedefs
        self.texts = [t.text for t in tokens]
        self.waits, self.wrong = [], []  # (name, callee); texts
        self.locals = {}
        for kind in function.parameters if function else ():
            self.locals[kind.name] = kind
        self.find_locals()
        self.beside = False  # between task_leave() and task_enter()

    # --- types ---

    def find_locals(self):
        texts = self.texts
        for i, text in enumerate(texts):
            if text == "struct":
                self.declare(i + 2, csource.Kind(
                    None, False, False, "".join(texts[i + 1:i + 2]), 0, None))
            elif text in self.typedefs:
                self.declare(i + 1, csource.Kind(
                    None, True, self.typedefs[text], None, 0, text))
            elif texts[i:i + 2] == ["(", "*"] and texts[i + 3:i + 5] == \
                    [")", "("] and i > 0 and texts[i - 1] not in csource.WORDS \
                    and (texts[i - 1] == "*" or csource.NAME.match(texts[i - 1])):
                self.locals[texts[i + 2]] = csource.Kind(
                    texts[i + 2], True, "WAITS" in texts[max(0, i - 5):i],
                    None, 0, None)

    def declare(self, i, kind):
        """The names that a declaration gives to a type that ends before i."""
        texts = self.texts + [";"] * 4
        while True:
            while texts[i] in ("*", "const"):
                i += 1
            if not csource.NAME.match(texts[i]) or \
                    texts[i + 1] not in ("=", ";", ",", "[", ")"):
                return
            self.locals[texts[i]] = kind._replace(
                name=texts[i], dims=int(texts[i + 1] == "["))
            if texts[i + 1] != ",":
                return
            i += 2

    def begin_of(self, i):
        """Where the bracket begins that ends at i."""
        depth = 0
        while i >= 0:
            if self.texts[i] in csource.CLOSE:
                depth += 1
            elif self.texts[i] in csource.OPEN:
                depth -= 1
                if depth == 0:
                    return i
            i -= 1
        return 0

    def kind_at(self, i):
        """The Kind of the expression that ends at i, or None."""
        texts = self.texts
        while i > 0 and texts[i] == "]":
            i = self.begin_of(i) - 1
        if i < 0:
            return None
        if texts[i] == ")":
            begin = self.begin_of(i)
            if begin > 0 and csource.NAME.match(texts[begin - 1]) and \
                    texts[begin - 1] not in csource.WORDS:
                callee = self.marks.function(self.path, texts[begin - 1])
                return callee.returns if callee else None
            return self.kind_at(i - 1)
        if not csource.NAME.match(texts[i]):
            return None
        if i > 0 and texts[i - 1] in (".", "->"):
            return self.member_at(i)
        return self.variable(texts[i])

    def variable(self, name):
        return self.locals.get(name) or self.marks.variable(self.path, name)

    def member_at(self, i):
        """The Kind of a member: x->m, x.m or .m in an initialiser."""
        before = self.kind_at(i - 2) if i > 1 and \
            self.texts[i - 2] not in ("{", ",") else self.braces()
        return self.marks.member(
            self.path, before.struct if before else None, self.texts[i])

    def braces(self):
        for frame in reversed(self.stack):
            if frame.what == "braces":
                return frame.kind
        return None

    # --- reading ---

    def read(self, kind=None):
        self.stack = [Frame("block")]
        if kind:
            self.stack[0].target = kind
        i = 0
        while i < len(self.tokens):
            i = self.step(i)
        return self

    def step(self, i):
        text, top = self.texts[i], self.stack[-1]
        if text in ("sizeof", "typeof", "__typeof__", "_Alignof") and \
                self.texts[i + 1:i + 2] == ["("]:
            return csource.group_end(self.tokens, i + 1) + 1
        if text == "(":
            self.stack.append(self.parenthesis(i))
        elif text == "[":
            self.stack.append(Frame("index"))
        elif text == "{":
            self.stack.append(self.brace(i))
        elif text in csource.CLOSE:
            if len(self.stack) > 1:
                self.stack.pop()
        elif text == ",":
            top.index += 1
            top.target = None
        elif text == ";":
            top.target, top.returns = None, False
        elif text == "return":
            top.returns = True
        elif text == "=" and i > 0:
            top.target = self.kind_at(i - 1) or \
                csource.Kind(self.texts[i - 1], False, False, None, 0, None)
            if top.what == "braces" and self.texts[i - 1] == "]":
                top.target = None
        elif csource.NAME.match(text) and text not in csource.WORDS:
            self.name(i)
        return i + 1

    def parenthesis(self, i):
        before = self.texts[i - 1] if i > 0 else ""
        if before in CONTROLS:
            return Frame("control")
        if before in (")", "]"):
            kind = self.kind_at(i - 1)
            if kind and kind.pointer:
                self.call(i - 1, kind.name, kind)
                return Frame("call", callee=kind)
            return Frame("plain")
        if not csource.NAME.match(before) or before in csource.WORDS:
            return Frame("plain")
        return Frame("call", callee=self.callee(i - 1))

    def callee(self, i):
        """Function or Kind of the name at i, which is called; or the name."""
        if self.texts[i - 1:i] in (["."], ["->"]):
            return self.member_at(i) or self.texts[i]
        variable = self.variable(self.texts[i])
        if variable and variable.pointer:
            return variable
        return self.marks.function(self.path, self.texts[i]) or self.texts[i]

    def brace(self, i):
        before, top = self.texts[i - 1] if i > 0 else "", self.stack[-1]
        if before == "=":
            kind = top.target
            if kind is None and top.what == "braces":
                kind = self.place(top)
        elif before == ")" and self.texts[self.begin_of(i - 1) + 1] in \
                ("struct", "const"):
            texts = self.texts[self.begin_of(i - 1):i]
            at = texts.index("struct") if "struct" in texts else 0
            kind = csource.Kind(None, False, False, texts[at + 1],
                                texts.count("["), None)
        elif top.what == "braces":
            kind = self.place(top)
        else:
            return Frame("block")
        return Frame("braces", kind=kind)

    def place(self, frame):
        """The Kind of the next value in the braces."""
        kind = frame.kind
        if kind is None:
            return None
        if kind.dims:
            return kind._replace(dims=kind.dims - 1)
        layout = self.marks.find(self.marks.layouts, self.path,
                                 kind.struct) or ()
        return layout[frame.index] if frame.index < len(layout) else None

    def name(self, i):
        text = self.texts[i]
        before = self.texts[i - 1] if i > 0 else ""
        if before in ("struct", "union", "enum"):
            return
        after = self.texts[i + 1] if i + 1 < len(self.texts) else ""
        if after == "(":
            self.call(i, text, self.callee(i))
            return
        if before == "." and self.texts[i - 2] in ("{", ",") or after == "=" \
                or before in COMPARISONS or after in COMPARISONS + ("?", ):
            return
        if before in (".", "->"):
            kind = self.member_at(i)
        else:
            kind = self.variable(text)
            if kind is None:
                kind = self.marks.function(self.path, text)
            elif not kind.pointer:
                return
        if kind is not None and kind.waits and (
                isinstance(kind, csource.Function) or kind.pointer):
            self.value(i, text)

    def call(self, i, name, callee):
        line = self.tokens[i].line
        if name in ("task_leave", "task_leave_within", "task_enter"):
            self.beside = name != "task_enter"
        if isinstance(callee, str) or callee is None:
            return
        if getattr(callee, "struct", None) == "?":
            self.wrong.append(f"{self.path}:{line}: members {name} differ, and "
                              "whose is called is not clear: rename one")
        if not callee.waits:
            return
        if self.excepted(name):
            return
        self.waits.append((name, callee))
        if self.beside:
            self.wrong.append(f"{self.path}:{line}: {name}() waits between "
                              "task_leave() and task_enter()")

    def excepted(self, name):
        key = (self.path, self.function.name if self.function else "", name)
        if key in EXCEPTIONS:
            self.used.add(key)
        return key in EXCEPTIONS

    # --- functions as values ---

    def value(self, i, name):
        line = self.tokens[i].line
        where, kind = self.destination()
        if where is None or where.isupper():  # a macro not understood
            return
        if kind is not None and kind.pointer and kind.waits:
            self.used.add(kind.typedef or where)
        elif not self.excepted(where):
            self.wrong.append(f"{self.path}:{line}: {name} waits, but {where} "
                              "has no mark")

    def destination(self):
        """(name, Kind) of what takes the value; (None, None): nothing does."""
        for frame in reversed(self.stack):
            if frame.target is not None:
                return frame.target.name, frame.target
            if frame.what == "call":
                return self.argument(frame)
            if frame.what == "braces":
                kind = self.place(frame)
                return (kind.name, kind) if kind else ("?", None)
            if frame.what in ("control", "index"):
                return None, None
            if frame.what == "block":
                if frame.returns and self.function:
                    return "what is returned", self.function.returns
                return "?", None
        return "?", None

    def argument(self, frame):
        callee = frame.callee
        if isinstance(callee, csource.Function):
            where = callee.parameters[min(frame.index,
                                          len(callee.parameters) - 1)]
            return f"{callee.name}({where.name})", where
        name = callee if isinstance(callee, str) else callee.name
        return name if name.isupper() else f"what {name}() takes", None


def find_stale(used):
    """Exceptions that nothing needs."""
    return [f"{key[0]}: {key[1]}() and {key[2]}" for key in EXCEPTIONS
            if key not in used and os.path.exists(key[0])]


def read_sources():
    headers = list(tree.files(".h"))
    around = csource.read_macros(headers)
    typedefs, sources = {}, []
    expanded = [(path, csource.expand_file(path, csource.Macros(around)))
                for path in headers + list(tree.files(".c"))]
    for path, tokens in expanded[:len(headers)]:  # only for the typedefs
        csource.Source(path, tokens, typedefs)
    return [csource.Source(path, tokens, typedefs)
            for path, tokens in expanded]


class Lint:
    def __init__(self, sources):
        self.sources, self.marks = sources, Marks(sources)
        self.used, self.missing, self.calls = set(), [], {}
        self.places, self.taskless = [], []
        for source in sources:
            for variable in source.variables:
                if variable.value:
                    reader = Reader(self.marks, source, variable.value,
                                    used=self.used).read(variable.kind)
                    self.places += reader.wrong
            for function in source.functions:
                if function.body is not None:
                    self.check(source, function)
        self.idle = self.find_idle()
        self.unused = list(self.find_unused())

    def check(self, source, function):
        reader = Reader(self.marks, source, function.body, function,
                        self.used).read()
        self.places += reader.wrong
        known = self.marks.function(function.path, function.name)
        at = f"{function.path}:{function.line}: {function.name}()"
        calls = reader.waits
        if function.path.startswith(TASKLESS):
            if calls or known.waits:
                self.taskless.append(f"{at} waits")
        elif calls and not known.waits:
            self.missing.append(f"{at} calls {calls[0][0]}() and has no mark")
        elif known.waits and function.name not in ROOTS and not known.made:
            self.calls[id(known)] = (at, [callee for _, callee in calls])

    def find_idle(self):
        """Marked functions from which no call leads to where control goes."""
        left = dict(self.calls)
        while True:
            good = [key for key, (_, callees) in left.items()
                    if any(id(callee) not in left for callee in callees)]
            if not good:
                return [f"{at} is marked and calls nothing that waits"
                        for at, _ in left.values()]
            for key in good:
                del left[key]

    def find_unused(self):
        for source in self.sources:
            for name, line in source.marked:
                if name not in self.used:
                    yield f"{source.path}:{line}: {name}"
            for kind, line in source.members:
                if kind.pointer and kind.waits and not kind.typedef and \
                        kind.name not in self.used | set(UNUSED):
                    yield f"{source.path}:{line}: {kind.name}"
            for function in source.functions:
                for kind in function.parameters:
                    name = f"{function.name}({kind.name})"
                    if kind.pointer and kind.waits and not kind.typedef and \
                            name not in self.used | set(UNUSED):
                        yield f"{source.path}:{function.line}: {name}"


def main():
    tree.enter()
    lint = Lint(read_sources())
    tree.report([
        ("what calls a function that waits is marked", lint.missing),
        ("what is marked calls something that waits", lint.idle),
        ("a mark stands at the prototype", lint.marks.wrong),
        ("functions that wait are put where there is a mark", lint.places),
        ("into each marked member something is put that waits", lint.unused),
        ("programs without tasks call nothing that waits", lint.taskless),
        ("each exception is needed", find_stale(lint.used)),
    ])


if __name__ == "__main__":
    main()
