"""nginx in front: answers stay the same, and malformed framings change no other client's answer.

nginx keeps connections to the server open and gives them to all its clients; were a request read
differently by the two, a client behind it would get another one's answer. Each probe is sent twice,
through nginx with bodies passed on as they come and with bodies read first, and also straight to the
server, which must refuse it. After each, other clients ask through the same connections.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import time

from framings import BODY, FRAMINGS, length, post
from hone_server import free_port
from served import SERVED, TEXTS, URL, done, same_labels

PROBE_SECONDS = 1  # nginx keeps a connection on which it waits for more
REFUSAL_SECONDS = 20
CONFIG = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  upstream hone {{ server 127.0.0.1:{server}; keepalive 1; }}
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  server {{ listen 127.0.0.1:{streamed}; location / {{
    proxy_pass http://hone; proxy_request_buffering off; }} }}
  server {{ listen 127.0.0.1:{buffered}; location / {{ proxy_pass http://hone; }} }}
}}
"""


@contextlib.contextmanager
def nginx(server):
    """The ports on which nginx passes bodies on as they come, and reads them first."""
    folder = pathlib.Path(os.environ["SCRATCH"]) / "nginx"
    folder.mkdir(exist_ok=True)
    ports = {"streamed": free_port(), "buffered": free_port()}
    config = folder / "nginx.conf"
    config.write_text(CONFIG.format(folder=folder, server=server, **ports))
    program = pathlib.Path(os.environ["DEBIAN_PROGRAMS"]) / "usr/sbin/nginx"
    command = [program, "-e", folder / "error.log", "-p", folder, "-c", config]
    process = subprocess.Popen(command)
    try:
        for port in ports.values():
            wait_for(port, process)
        yield list(ports.values())
    finally:
        process.terminate()
        process.wait(timeout=10)


def wait_for(port, process):
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert process.poll() is None, "nginx ended"
        time.sleep(0.05)
    raise AssertionError("nginx does not listen")


def send(port, request, seconds):
    """All that comes back, and whether the connection was closed before it was silent that long."""
    with socket.create_connection(("127.0.0.1", port), seconds) as connection:
        answer = b""
        with contextlib.suppress(OSError):
            connection.sendall(request)
            while part := connection.recv(65536):
                answer += part
            return answer, True
        return answer, False


def statuses(answer):
    return [int(status) for status in re.findall(rb"^HTTP/1\.[01] (\d{3})", answer, re.MULTILINE)]


class GoodClient:
    """Asks for the texts in turn over a connection that it keeps, with requests of every framing."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.turn = 0

    def ask(self, after):
        text = self.turn % len(TEXTS)
        body = json.dumps({"inputs": TEXTS[text]}).encode()
        chunked = self.turn % 2 == 1
        self.turn += 1
        self.connection.request("POST", "/predict", iter([body]) if chunked else body,
                                {"content-type": "application/json"}, encode_chunked=chunked)
        answer = self.connection.getresponse()
        got = answer.read()
        assert answer.status == 200, f"after {after}: {answer.status} {got!r}"
        labels = [(element["label"], element["score"]) for element in json.loads(got)]
        same_labels(labels, text, f"after {after}")


def main():
    server = int(URL.rsplit(":", 1)[1])
    with nginx(server) as ports:
        clients = [GoodClient(port) for port in ports for _ in range(2)]
        for client in clients:
            client.ask("nothing")
        for name, request in FRAMINGS.items():
            for port in ports:
                send(port, request, PROBE_SECONDS)
                for client in clients:
                    client.ask(f"{name}, through nginx")
            straight = request.replace(b"/smuggled", b"/straight")
            answer, closed = send(server, straight, REFUSAL_SECONDS)
            assert statuses(answer) == [400], f"{name}: {statuses(answer)} {answer[:300]!r}"
            assert closed, f"{name}: the connection stays open"
        good = post(length(len(BODY)), b"Connection: close", body=BODY)
        answer, _ = send(server, good, REFUSAL_SECONDS)
        assert statuses(answer) == [200], f"a request that is well framed: {answer[:300]!r}"
    log = pathlib.Path(SERVED["log"]).read_text()
    assert "/predict" in log, "the log shows no request"
    assert "/straight" not in log, "what follows a refused request was answered"
    asked = sum(client.turn for client in clients)
    done(f"{len(FRAMINGS)} malformed framings, {asked} answers beside them")


main()
