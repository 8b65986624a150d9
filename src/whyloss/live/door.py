"""Who may see the live page: programs on this machine that know the key, asking for it under a name of this machine."""

import hashlib
import hmac
import ipaddress
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
# Jupyter takes a parameter named "token" for its own.
PARAMETER = "key"
HEADERS = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"), (b"cross-origin-resource-policy", b"same-origin"),
           (b"cross-origin-opener-policy", b"same-origin"), (b"cache-control", b"no-store"))


def new_key() -> str:
    """192 random bits, for an address."""
    return secrets.token_urlsafe(24)


def host_of(header: str) -> str:
    """The name in a Host header, without its port, in lower case."""
    name, colon, port = header.strip().lower().rpartition(":")
    return name if colon and port.isdigit() else header.strip().lower()


class Door:
    """ASGI: lets a request through to `app`, or answers why not. hosts: further names that the page may be asked for under."""

    def __init__(self, app, key: str, hosts=()):
        self.app, self._key = app, key.encode()
        self.hosts = LOCAL | {host.lower() for host in hosts}
        # One cookie a key: cookies do not tell ports apart, and two servers behind two tunnels are one host to a browser.
        self.cookie = f"whyloss-{hashlib.sha256(self._key).hexdigest()[:10]}"

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:  # a websocket: there are none here
            await receive()
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope, receive, send) -> None:
        headers = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
        host = host_of(headers.get("host", ""))
        if host not in self.hosts:  # another site's name that was made to point here
            shown = "".join(c for c in host if c.isalnum() or c in ".-:[]")[:200]
            return await _answer(send, 400, f"this page was asked for as {shown!r}. If that is your proxy: "
                                            f"whyloss serve --allow-host {shown or 'NAME'}\n")
        if scope["method"] not in ("GET", "HEAD"):
            return await _answer(send, 405, "nothing can be changed here\n")
        given = parse_qs(scope["query_string"].decode("latin-1")).get(PARAMETER, [""])[0]
        if given and self._fits(given) and scope["path"] == "/":
            # The key leaves the address bar. The cookie has no path: behind a proxy only the browser knows it.
            return await _answer(send, 303, "", [(b"location", b"./"),
                                                 (b"set-cookie", f"{self.cookie}={self._key.decode()}; HttpOnly; SameSite=Lax".encode())])
        if not (self._fits(given) or self._fits(self._of_cookie(headers.get("cookie", "")))):
            return await _answer(send, 401, "this page needs its key: open the whole address that `whyloss serve` printed\n")

        async def and_headers(message):
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        await self.app(scope, receive, and_headers)

    def _fits(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._key)

    def _of_cookie(self, header: str) -> str:
        for part in header.split(";"):  # one by one: a neighbour's odd cookie must not hide ours
            try:
                found = SimpleCookie(part.strip()).get(self.cookie)
            except CookieError:
                continue
            if found is not None:
                return found.value
        return ""


async def _answer(send, status: int, text: str, headers=()) -> None:
    body = text.encode()
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *HEADERS, *headers]})
    await send({"type": "http.response.body", "body": body})


def check_host(name: str) -> str:
    """A name for `hosts`, without port. Raises ValueError for what is none."""
    name = host_of(name)
    bare = name.strip("[]")
    try:
        ipaddress.ip_address(bare)
    except ValueError:
        if not name or not all(part and part.replace("-", "").replace("_", "").isalnum() for part in name.split(".")):
            raise ValueError(f"{name!r} is no host name; one looks like hub.example.org") from None
    return name
