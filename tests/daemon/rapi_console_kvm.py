#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi_console_kvm.py ADDRESS "" INSTANCE: looks at the consoles of a virtual
machine that has just been started: its VNC server, its serial port.  Prints TAP
without a plan."""
import sys
import time

sys.dont_write_bytecode = True
import rapi_console as c  # noqa: E402

BOOT_S = 90


def vnc():
    ws = c.Websocket(c.ticket(b'{"kind": "vnc"}'))
    got, *_ = ws.read(12)
    c.point(got == b"RFB 003.008\n", "its VNC server speaks", (ws.head, got))
    ws.send(c.framed(b"RFB 003.008\n"))
    got, *_ = ws.read(2)
    c.point(got == b"\x01\x01", "and is spoken to", got)
    ws.close()


def serial():
    """It may be a moment before it says something; a reboot ends the console."""
    seen, end = b"", time.monotonic() + BOOT_S
    while b"guest is up" not in seen and time.monotonic() < end:
        secret = c.ticket(b'{"kind": "serial"}')
        ws = c.Websocket(secret) if isinstance(secret, str) else None
        if ws is None or ws.status != 101:
            time.sleep(0.2)
            continue
        ws.sock.settimeout(BOOT_S)
        while b"guest is up" not in seen:
            kind, data = ws.frame()
            if kind not in (0x82, 0x89):
                break
            seen += data if kind == 0x82 else b""
        ws.close()
    c.point(b"guest is up" in seen, "its serial port tells that it is up",
            seen[-300:])


if sys.argv[4] == "vnc":
    vnc()
else:
    serial()
