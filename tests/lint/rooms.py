#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""rooms.py [SOURCE-ROOT]: the rooms of the tree are as doc/architecture.md has
them, and includes go to doors, in the allowed direction.  Prints TAP."""
import os
import re
import sys

sys.dont_write_bytecode = True
import tree  # noqa: E402

SOURCES = (".c", ".h", ".def")
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.M)
INCLUDE = re.compile(r'^[ ]*#[ ]*include "([^"]+)"', re.M)
MANY = 30  # files: more make the report, not a failure


class Room:
    def __init__(self, name, doors, may, place):
        self.name, self.doors, self.may, self.place = name, doors, may, place
        self.used_doors, self.used_rooms, self.files = set(), set(), 0


def quoted(cell):
    return set(re.findall("`([^`]+)`", cell))


def read_table():
    with open("doc/architecture.md", encoding="utf-8") as file:
        text = file.read()
    begin = text.index("## Who may include whom")
    text = text[begin:text.index("\n## ", begin + 1)]
    rooms = {}
    for place, row in enumerate(ROW.findall(text)):
        rooms[row[0]] = Room(row[0], quoted(row[2]), quoted(row[3]), place)
    return rooms


def allows(room, other):
    return other in room.may or ("lib" in room.may and
                                 other.startswith("lib/"))


def check_include(rooms, room, path, header):
    """What is wrong with it, or None."""
    folder, name = os.path.split(header)
    if header == "gantry-config.h" or folder == room.name:
        return None
    if folder not in rooms:
        return f'{path}: "{header}" does not start at the root of the project'
    rooms[folder].used_doors.add(name)
    room.used_rooms.add(folder)
    if not allows(room, folder):
        return f'{path}: {room.name} may not include "{header}"'
    if name not in rooms[folder].doors:
        return f'{path}: "{header}" is no door of {folder}'
    return None


def check_includes(rooms):
    for path in tree.files(SOURCES):
        folder = os.path.dirname(path)
        if folder not in rooms:
            yield f"{path}: {folder} is no room of the table"
            continue
        rooms[folder].files += 1
        with open(path, encoding="utf-8") as file:
            for header in INCLUDE.findall(file.read()):
                wrong = check_include(rooms, rooms[folder], path, header)
                if wrong:
                    yield wrong


def check_order(rooms):
    for room in rooms.values():
        for other in sorted(room.may - {"lib"}):
            if other not in rooms:
                yield f"{room.name}: there is no room {other}"
            elif rooms[other].place >= room.place:
                yield f"{room.name} may not include {other}, which stands below"


# Doors that stand open before somebody comes in, and for whom.
EARLY = {
}


def check_use(rooms):
    for room in rooms.values():
        if room.files == 0:
            yield f"{room.name} has no files"
        for door in sorted(room.doors - room.used_doors):
            if f"{room.name}/{door}" not in EARLY:
                yield f"nobody else includes {room.name}/{door}"
        for other in sorted(room.may - {"lib"} - room.used_rooms):
            yield f"{room.name} does not include {other}"


def described(room):
    """Its folder says what it is for: in a README.md, or a door does."""
    if os.path.exists(os.path.join(room.name, "README.md")):
        return True
    for door in room.doors:
        with open(os.path.join(room.name, door), encoding="utf-8") as file:
            if file.read().count("/*", 0, 400) > 1:
                return True
    return False


def main():
    tree.enter()
    rooms = read_table()
    points = [
        ("includes go to doors, in the allowed direction",
         list(check_includes(rooms))),
        ("who may be included stands above: there is no circle",
         list(check_order(rooms))),
        ("the table names no door and no way that nobody uses",
         list(check_use(rooms))),
        ("each room says what it is for",
         [room.name for room in rooms.values() if not described(room)]),
    ]
    tree.report(points)
    for room in rooms.values():
        if room.files > MANY:
            print(f"# {room.name} has {room.files} files")


if __name__ == "__main__":
    main()
