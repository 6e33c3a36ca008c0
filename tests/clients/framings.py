"""Requests whose framing two parsers may read differently. A server must refuse each with status
400 and close the connection, so that what follows is never taken for another request."""

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: hone\r\n\r\n"
BODY = b'{"inputs":"not good"}'
HOST = b"Host: hone\r\n"
JSON = b"Content-Type: application/json\r\n"


def post(*fields, body=b"", version=b"HTTP/1.1", host=HOST):
    """POST /predict; `fields` are whole lines without their end."""
    head = b"POST /predict " + version + b"\r\n" + host + JSON
    return head + b"".join(field + b"\r\n" for field in fields) + b"\r\n" + body


def length(count):
    return b"Content-Length: %d" % count


CHUNKED = b"Transfer-Encoding: chunked"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
END = b"0\r\n\r\n"
TWO = BODY + SMUGGLED

FRAMINGS = {
    "length with chunked": post(length(len(END + SMUGGLED)), CHUNKED, body=END + SMUGGLED),
    "chunked with length": post(CHUNKED, length(4), body=CHUNKS + SMUGGLED),
    "two lengths": post(length(len(BODY)), length(len(TWO)), body=TWO),
    "a list of lengths": post(b"Content-Length: %d, %d" % (len(BODY), len(BODY)), body=TWO),
    "signed length": post(b"Content-Length: +%d" % len(BODY), body=TWO),
    "negative length": post(b"Content-Length: -1", body=TWO),
    "length of letters": post(b"Content-Length: 0x15", body=TWO),
    "length too large": post(b"Content-Length: 18446744073709551637", body=TWO),
    "chunk size too large": post(CHUNKED, body=b"10000000000000015\r\n" + BODY + b"\r\n" + END),
    "chunk size of letters": post(CHUNKED, body=b"xyz\r\n" + BODY + b"\r\n" + END + SMUGGLED),
    "chunk without its end": post(CHUNKED, body=b"15\r\n" + BODY + b"XX" + END + SMUGGLED),
    "chunk ended by LF": post(CHUNKED, body=b"15\n" + BODY + b"\n0\n\n" + SMUGGLED),
    "unknown coding": post(b"Transfer-Encoding: xchunked", length(len(BODY)), body=TWO),
    "coding behind chunked": post(b"Transfer-Encoding: chunked, gzip", body=CHUNKS + SMUGGLED),
    "chunked twice": post(b"Transfer-Encoding: chunked, chunked", body=CHUNKS + SMUGGLED),
    "identity coding": post(b"Transfer-Encoding: identity", length(len(BODY)), body=TWO),
    "chunked on HTTP/1.0": post(CHUNKED, body=CHUNKS + SMUGGLED, version=b"HTTP/1.0"),
    "folded header": post(b"X-Folded: a\r\n b", length(len(BODY)), body=TWO),
    "folded coding": post(b"Transfer-Encoding:\r\n chunked", body=CHUNKS + SMUGGLED),
    "space before colon": post(b"Content-Length : %d" % len(BODY), body=TWO),
    "bare LF": post(length(len(BODY)), body=TWO).replace(b"\r\n", b"\n", 3),
    "bare CR": post(b"X-Bare: a\rTransfer-Encoding: chunked", length(len(BODY)), body=TWO),
    "NUL in a header": post(b"X-Nul: a\0b", length(len(BODY)), body=TWO),
    "NUL in a name": post(b"Content-Length\0: 0", length(len(BODY)), body=TWO),
    "no host": post(length(len(BODY)), body=TWO, host=b""),
    "two hosts": post(length(len(BODY)), body=TWO, host=HOST + b"Host: other\r\n"),
    "no version": b"POST /predict\r\n" + HOST + b"\r\n" + SMUGGLED,
}
