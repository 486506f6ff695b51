# SPDX-License-Identifier: BSD-2-Clause
"""What a source in C says, for the lints that look at calls: tokens with the
macros of the tree expanded, functions with their bodies, members, typedefs.

It is no compiler.  It reads each file once, knows no system headers, takes the
macros that a header leaves defined as known everywhere, and reads on over what
it does not understand."""
import collections
import os
import re

TOKENS = re.compile(
    r"/\*.*?\*/|//[^\n]*"
    r"|(?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)"
    r'|(?P<token>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|[A-Za-z_]\w*|\.?[0-9](?:[eEpP][+-]|[\w.])*"
    r"|->|\.\.\.|\#\#|&&|\|\||[<>=!+*/%&|^-]=|[^\s\\])"
    r"|(?P<line>\n)", re.S | re.M)
DEFINE = re.compile(r"define\s+(\w+)(?:\(([^)]*)\))?(.*)", re.S)
NAME = re.compile(r"[A-Za-z_]\w*$")
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, (")", "]", "}")
# Words that stand in front of a parenthesis and call nothing.
WORDS = set("if for while switch return sizeof case else do goto typeof "
            "__typeof__ _Alignof __attribute__ defined const static struct "
            "union enum void int char bool unsigned long double".split())

# Macros that are not expanded: a mark, and those that repeat others by tricks of
# the preprocessor.
KEPT = ("WAITS", "EACH", "EACH_COMMAS")

# made: a macro put it there.
Token = collections.namedtuple("Token", "text line made", defaults=(False, ))
Macro = collections.namedtuple("Macro", "parameters body")
# What a name is that is declared: a function pointer (waits: its mark), or of
# a struct, or neither.  dims: how many [] follow.
Kind = collections.namedtuple("Kind", "name pointer waits struct dims typedef")
Function = collections.namedtuple(
    "Function", "name path line static waits made parameters returns body")
Variable = collections.namedtuple("Variable", "path kind value")


def scan(text, line=1):
    """Yields ("directive" or "token", Token)."""
    for match in TOKENS.finditer(text):
        kind = match.lastgroup
        if kind in ("directive", "token"):
            yield kind, Token(match.group(kind), line)
        line += match.group().count("\n")


def tokens_of(text, line=1):
    return [token for kind, token in scan(text, line) if kind == "token"]


def group_end(tokens, begin):
    """The place of the bracket that closes the one at begin."""
    depth = 0
    for i in range(begin, len(tokens)):
        text = tokens[i].text
        if text in OPEN:
            depth += 1
        elif text in CLOSE:
            depth -= 1
            if depth == 0:
                return i
    return len(tokens) - 1


def split(tokens, separator):
    """The pieces between separators that stand in no bracket."""
    pieces, depth = [[]], 0
    for token in tokens:
        if token.text in OPEN:
            depth += 1
        elif token.text in CLOSE:
            depth -= 1
        if depth == 0 and token.text == separator:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


class Macros:
    """Those in effect; `around` are the ones that the headers leave."""

    def __init__(self, around=None):
        self.around, self.own, self.gone = around or {}, {}, set()

    def find(self, name):
        if name in self.own:
            return self.own[name]
        return None if name in self.gone else self.around.get(name)

    def define(self, text, line):
        name, parameters, body = DEFINE.match(text).groups()
        if name in KEPT:
            return
        if parameters is not None:
            parameters = [p.strip() for p in parameters.split(",")]
        self.own[name] = Macro(parameters, tokens_of(
            body.replace("\\\n", "\n"), line))

    def undefine(self, name):
        self.own.pop(name, None)
        self.gone.add(name)

    def expand(self, tokens, hidden=frozenset()):
        result, i = [], 0
        while i < len(tokens):
            token = tokens[i]
            macro = self.find(token.text)
            i += 1
            if macro is None or token.text in hidden:
                result.append(token)
                continue
            arguments = []
            if macro.parameters is not None:
                if i == len(tokens) or tokens[i].text != "(":
                    result.append(token)
                    continue
                end = group_end(tokens, i)
                arguments = split(tokens[i + 1:end], ",")
                i = end + 1
            body = self.fill(macro, arguments, token.line, hidden)
            result += self.expand(body, hidden | {token.text})
        return result

    def fill(self, macro, arguments, line, hidden):
        """The body with the arguments in their places."""
        given = {}
        for n, name in enumerate(macro.parameters or []):
            if name == "...":
                rest = arguments[n:]
                given["__VA_ARGS__"] = sum(
                    ([Token(",", line)] + a for a in rest), [])[1:]
            else:
                given[name] = arguments[n] if n < len(arguments) else []
        result, glue = [], False
        body = optional(macro.body, given.get("__VA_ARGS__"))
        for n, token in enumerate(body):
            if token.text == "#":
                continue
            if token.text == "##":
                glue = True
                continue
            near = glue or body[n + 1:n + 2] and body[n + 1].text == "##"
            piece = [Token(token.text, line, True)]
            if n > 0 and body[n - 1].text == "#":
                piece = [Token('""', line, True)]
            elif token.text in given:
                piece = given[token.text]
                if not near:
                    piece = self.expand(piece, hidden)
            if glue and result and piece:
                result[-1] = Token(result[-1].text + piece[0].text, line, True)
                piece = piece[1:]
            result += piece
            glue = False
        return result


def optional(body, rest):
    """The body of a macro with what stands in __VA_OPT__(), or without."""
    result, i = [], 0
    while i < len(body):
        if body[i].text != "__VA_OPT__":
            result.append(body[i])
            i += 1
            continue
        end = group_end(body, i + 1)
        if rest:
            result += body[i + 2:end]
        i = end + 1
    return result


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def expand_file(path, macros, line=None):
    """The tokens of a file; a table (.def) is read where it is included."""
    result, waiting, skipping = [], [], 0
    for kind, token in scan(read(path)):
        if line is not None:
            token = Token(token.text, line)
        if kind == "token":
            if not skipping:
                waiting.append(token)
            continue
        result += macros.expand(waiting)
        waiting = []
        text = token.text.strip()[1:].strip()
        if text.startswith("if"):
            known = text.startswith("ifndef") and macros.find(text.split()[1])
            skipping += 1 if skipping or (known and path.endswith(".def")) else 0
        elif text.startswith("endif"):
            skipping -= 1 if skipping else 0
        elif skipping:
            continue
        elif text.startswith("define"):
            macros.define(text, token.line)
        elif text.startswith("undef"):
            macros.undefine(text.split()[1])
        elif re.match(r'include "[^"]*\.def"', text):
            table = text.split('"')[1]
            if os.path.exists(table):
                result += expand_file(table, macros, token.line)
    return result + macros.expand(waiting)


def read_macros(headers):
    """Those that are still defined at the end of the headers."""
    around = {}
    for path in headers:
        macros = Macros()
        for kind, token in scan(read(path)):
            text = token.text.strip()[1:].strip()
            if kind == "directive" and text.startswith("define"):
                macros.define(text, token.line)
            elif kind == "directive" and text.startswith("undef"):
                macros.undefine(text.split()[1])
        around.update((name, macro) for name, macro in macros.own.items()
                      if macro.body)
    return around


def pieces(tokens):
    """(declaration, body or None) of what stands at the top of a file."""
    begin = i = 0
    while i < len(tokens):
        text = tokens[i].text
        if text == "{" and is_body(tokens[begin:i]):
            end = group_end(tokens, i)
            yield tokens[begin:i], tokens[i + 1:end]
            begin = i = end + 1
        elif text in OPEN:
            i = group_end(tokens, i) + 1
        else:
            if text == ";":
                yield tokens[begin:i], None
                begin = i + 1
            i += 1


def is_body(head):
    return bool(head) and head[-1].text == ")" and \
        not any(t.text == "=" for t in head)


def without_attributes(tokens):
    result, i = [], 0
    while i < len(tokens):
        if tokens[i].text == "__attribute__":
            i = group_end(tokens, i + 1) + 1
        else:
            result.append(tokens[i])
            i += 1
    return result


class Source:
    """One file: what it declares and defines."""

    def __init__(self, path, tokens, typedefs):
        self.path = path
        self.typedefs = typedefs if path.endswith(".h") else \
            collections.ChainMap({}, typedefs)  # name: whether it is marked
        self.functions, self.variables = [], []
        self.members = []  # (Kind, line)
        self.layouts = {}  # struct: [Kind]
        self.marked = []   # typedefs that are marked here: (name, line)
        for head, body in pieces(tokens):
            self.take(without_attributes(head), body)

    def take(self, head, body):
        head = self.take_structs(head)
        if len(head) < 3:  # nothing, or a struct alone
            return
        if head[0].text == "typedef":
            self.take_typedef(head)
            return
        texts = [t.text for t in head]
        at = texts.index("=") if "=" in texts else len(texts)
        if body is None and ("=" in texts or "(" not in texts or
                             texts[texts.index("(") + 1] == "*"):
            for kind in self.kinds(head[:at]):
                self.variables.append(Variable(self.path, kind, head[at:]))
        else:
            self.take_function(head, body)

    def take_structs(self, tokens):
        """Notes the members; returns the tokens without them."""
        result, i = [], 0
        while i < len(tokens):
            token = tokens[i]
            name, at = None, i + 1
            if token.text in ("struct", "union") and at + 1 < len(tokens):
                if NAME.match(tokens[at].text):
                    name, at = tokens[at].text, at + 1
                if tokens[at].text == "{":
                    end = group_end(tokens, at)
                    name = name or f"{self.path}:{token.line}"
                    self.take_members(name, tokens[at + 1:end])
                    result += [token, Token(name, token.line)]
                    i = end + 1
                    continue
            result.append(token)
            i += 1
        return result

    def take_members(self, struct, tokens):
        layout = self.layouts.setdefault(struct, [])
        for piece in split(tokens, ";"):
            piece = self.take_structs(without_attributes(piece))
            if not piece:
                continue
            for kind in self.kinds(piece):
                layout.append(kind)
                self.members.append((kind, piece[0].line))

    def take_typedef(self, head):
        texts = [t.text for t in head]
        if "(" not in texts:
            return
        at = texts.index("(")
        name = texts[at - 1]
        if texts[at + 1] == "*":
            name = texts[at + 2]
        self.typedefs[name] = "WAITS" in texts
        if "WAITS" in texts:
            self.marked.append((name, head[0].line))

    def take_function(self, head, body):
        texts = [t.text for t in head]
        if "(" not in texts:
            return
        at = texts.index("(")
        name = texts[at - 1]
        if at == 0 or not NAME.match(name) or name in WORDS:
            return
        end = group_end(head, at)
        returns = self.kind(head[:at - 1] + [Token("returned", 0)])
        self.functions.append(Function(
            name, self.path, head[at - 1].line, "static" in texts[:at],
            "WAITS" in texts[:at], head[at].made,
            [self.kind(p) for p in split(head[at + 1:end], ",")],
            returns, None if body is None else self.take_structs(body)))

    def kinds(self, tokens):
        """Of a declaration that may declare several names."""
        parts = split(tokens, ",")
        yield self.kind(parts[0])
        names = [i for i, t in enumerate(parts[0]) if NAME.match(t.text)]
        for part in parts[1:]:
            yield self.kind(parts[0][:names[-1] if names else 0] + part)

    def kind(self, tokens):
        texts = [t.text for t in tokens]
        waits = "WAITS" in texts
        for i in range(len(texts) - 2):
            if texts[i] == "(" and texts[i + 1] == "*" and \
                    NAME.match(texts[i + 2]):
                return Kind(texts[i + 2], True, "WAITS" in texts[:i], None,
                            texts[i + 3] == "[", None)
        names = [t for t in texts[:(texts + ["["]).index("[")]
                 if NAME.match(t) and t not in WORDS]
        name = names[-1] if names else None
        dims = texts.count("[")
        for text in names[:-1]:
            if text in self.typedefs:
                return Kind(name, True, waits or self.typedefs[text], None,
                            dims, text)
        struct = None
        for i in range(len(texts) - 1):
            if texts[i] in ("struct", "union"):
                struct = texts[i + 1]
        return Kind(name, False, waits, struct, dims, None)
