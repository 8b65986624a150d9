"""Who is let in: loopback names only, the key or its cookie, nothing but reading."""

import socket

import pytest
from written import Serving, run

from whyloss.errors import BadInput
from whyloss.live.door import check_host, host_of
from whyloss.live.server import bind


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    run(folder / "a")
    with Serving(folder, hosts=["hub.example.org"]) as serving:
        yield serving


ADDRESSES = ("/", "/events", "/pictures?run=x", "/numbers?run=x&figure=loss", "/together?run=x", "/state", "/nothing")


@pytest.mark.parametrize("path", ADDRESSES)
@pytest.mark.parametrize("given", ["", "key=", "key=wrong", "token=x", "key=%FF%00"])
def test_nothing_is_shown_without_the_key(page, path, given):
    status, headers, body = page.ask(f"{path}{'&' if '?' in path else '?'}{given}", key=False)
    assert status == 401 and b"whyloss serve" in body and "set-cookie" not in headers


def test_the_key_becomes_a_cookie_and_leaves_the_address(page):
    status, headers, _ = page.ask(f"/?key={page.served.key}", key=False)

    assert status == 303 and headers["location"] == "./"
    assert "HttpOnly" in headers["set-cookie"] and "SameSite=Lax" in headers["set-cookie"] and "Path" not in headers["set-cookie"]
    assert page.ask("/")[0] == 200


def test_a_cookie_of_another_server_does_not_open_it(page):
    name = page.cookie.split("=")[0]

    assert page.ask("/", key=False, Cookie=f"{name}=wrong")[0] == 401
    assert page.ask("/", key=False, Cookie=f"odd=\"; =; {page.cookie}; a,b=c")[0] == 200


@pytest.mark.parametrize("host, status", [
    ("localhost:9000", 200), ("127.0.0.1", 200), ("[::1]:8765", 200), ("LOCALHOST", 200), ("hub.example.org", 200), ("hub.example.org:443", 200),
    ("evil.example", 400), ("localhost.evil.example", 400), ("127.0.0.1.evil.example", 400), ("", 400), ("127.0.0.1@evil.example", 400)])
def test_only_names_of_this_machine_are_answered(page, host, status):
    assert page.ask("/", host=host)[0] == status


def test_the_refusal_names_the_option_and_shows_no_markup(page):
    body = page.ask("/", host="<b>proxy.example</b>")[2]
    assert b"--allow-host bproxy.exampleb" in body and b"<" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(page, method):
    assert page.ask("/", method=method)[0] == 405


def test_the_page_allows_its_own_script_only_and_no_link_is_absolute(page):
    _, headers, body = page.ask("/")
    policy = headers["content-security-policy"]

    assert "default-src 'none'" in policy and "script-src 'sha256-" in policy and "unsafe" not in policy and "connect-src 'self'" in policy
    assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store" and headers["referrer-policy"] == "no-referrer"
    text = body.decode()
    assert 'src="/' not in text and 'href="/' not in text and 'fetch("/' not in text and 'EventSource("/' not in text


def test_it_listens_on_the_loopback_interface_only(page):
    assert page.served._socket.getsockname()[0] == "127.0.0.1"


def test_a_taken_port_is_told_and_the_usual_one_is_replaced():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BadInput, match="leave --port out"):
            bind(taken.getsockname()[1])
    with bind(None) as one, bind(None) as other:
        assert one.getsockname() != other.getsockname()


@pytest.mark.parametrize("given, name", [("Hub.Example.org:443", "hub.example.org"), ("10.0.0.7", "10.0.0.7"), ("[::1]:80", "[::1]"), ("box", "box")])
def test_a_host_is_taken_without_its_port(given, name):
    assert check_host(given) == host_of(given) == name


@pytest.mark.parametrize("given", ["", "http://hub", "a b", "*"])
def test_what_is_no_host_is_refused(given):
    with pytest.raises(ValueError, match="hub.example.org"):
        check_host(given)
