"""Access to the service: tokens, host names and CORS origins."""

import hashlib
import hmac
import re
from dataclasses import dataclass

from starlette.types import Scope

from wordclass.errors import InputError
from wordclass.serving.openapi import RequestError

_ROUTES_WITHOUT_TOKEN = frozenset({"/health", "/ready"})
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_UNIQUE_HEADERS = frozenset({b"host", b"authorization", b"content-type", b"content-length"})
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?")


@dataclass(frozen=True, kw_only=True)
class AccessPolicy:
    """Accepted tokens, host names and CORS origins.

    Parameters
    ----------
    tokens : tuple of str
        The accepted tokens. If there are none, requests need no token.
    hosts : tuple of str
        The names of this host, in addition to those of the loopback interface.
    origins : tuple of str
        The origins of pages that may send requests from a browser.
    """

    tokens: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


class AccessControl:
    """The decision whether a request is accepted.

    Parameters
    ----------
    policy : AccessPolicy
        The accepted tokens, host names and origins.
    """

    def __init__(self, policy: AccessPolicy) -> None:
        self._token_digests = [hashlib.sha256(token.encode()).digest() for token in policy.tokens]
        self._hosts = {*_LOOPBACK, *map(_parse_allowed_host, policy.hosts)}

    @property
    def needs_token(self) -> bool:
        """True if requests need a token."""
        return bool(self._token_digests)

    def error(self, scope: Scope) -> RequestError | None:
        """Return the reason why a request is refused, or None if it is accepted."""
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in headers and name in _UNIQUE_HEADERS:
                problem = f"the request has the header {name.decode()!r} more than once"
                return RequestError(400, problem)
            headers[name] = value
        host = headers.get(b"host", b"").decode("latin-1")
        if _host_name(host) not in self._hosts:
            problem = f"the host {host[:80]!r} is not served here"
            return RequestError(400, problem, hint="start the service with --allow-host to add it")
        path = scope["path"]
        is_public = path in _ROUTES_WITHOUT_TOKEN or scope["method"] == "OPTIONS"
        if not self._token_digests or is_public:
            return None
        kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        digest = hashlib.sha256(token.strip().encode("latin-1")).digest()
        # all are compared in constant time, so that the duration reveals nothing
        n_equal = sum(hmac.compare_digest(digest, known) for known in self._token_digests)
        if kind.lower() == "bearer" and n_equal:
            return None
        problem = "the token is wrong" if token else "the request has no token"
        hint = "send the header Authorization: Bearer TOKEN"
        return RequestError(401, problem, hint=hint, headers={"WWW-Authenticate": "Bearer"})


def _host_name(host: str) -> str | None:
    """Return the name in a Host header without its port, or None if the header is malformed.

    Examples
    --------
    >>> _host_name("[::1]:8000"), _host_name("Example.org:80"), _host_name("localhost")
    ('::1', 'example.org', 'localhost')
    >>> _host_name("[::1].example.org"), _host_name("::1"), _host_name("")
    (None, None, None)
    """
    match = _HOST.fullmatch(host.lower())
    return match and (match[1] or match[2])


def _parse_allowed_host(host: str) -> str:
    """Return the name of an allowed host. An IPv6 address may lack its brackets."""
    name = _host_name(f"[{host}]" if host.count(":") > 1 and host[0] != "[" else host)
    if name is None:
        problem = f"{host!r} is not a valid host name"
        raise InputError(problem, expected="a name such as models.example.org, or an IP address")
    return name
