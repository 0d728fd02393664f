"""The addresses on which a tree of processes listens, as reported by Linux."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

_LISTENING = "0A"


def addresses(root: int) -> list[IPv4Address | IPv6Address]:
    """Return the addresses on which a process and its descendants listen for TCP connections."""
    inodes = {inode for process in _process_tree(root) for inode in _socket_inodes(process)}
    listening = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == _LISTENING and cells[9] in inodes:
                listening.append(_parse_address(cells[1].split(":")[0]))
    return listening


def _process_tree(root: int) -> set[int]:
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
            )
        except OSError:  # the process has ended
            continue
    tree = set()
    added = {root}
    while added:
        tree |= added
        added = {process for process, parent in parents.items() if parent in added} - tree
    return tree


def _socket_inodes(process: int) -> set[str]:
    inodes = set()
    for link in Path(f"/proc/{process}/fd").glob("*"):
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink()))
        except OSError:  # the file has been closed
            continue
        if match:
            inodes.add(match[1])
    return inodes


def _parse_address(digits: str) -> IPv4Address | IPv6Address:
    """Parse the hexadecimal digits of an address: words of four bytes, in the machine's order."""
    words = [bytes.fromhex(digits[k : k + 8])[::-1] for k in range(0, len(digits), 8)]
    address = ip_address(b"".join(words))
    return getattr(address, "ipv4_mapped", None) or address
