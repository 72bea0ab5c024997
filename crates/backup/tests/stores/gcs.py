"""Google Cloud Storage's XML API, as much of it as a backup needs, in memory: gcs.py PORT BUCKET TOKEN

No server that package registries have knows this API's writes. Ref. https://docs.cloud.google.com/storage/docs/xml-api/reference-methods
"""
import hashlib
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

PORT, BUCKET, TOKEN = int(sys.argv[1]), sys.argv[2], sys.argv[3]
PAGE = 5  # Lists come in pages, and a backup has more objects than one holds.
objects, generations = {}, {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", headers=(), send=True):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if send:
            self.wfile.write(body)

    def refuse(self, status, code):
        self.answer(status, f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>".encode(), send=self.command != "HEAD")

    def handle_any(self):
        given = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urllib.parse.urlsplit(self.path)
        bucket, _, name = url.path[1:].partition("/")
        name, query = urllib.parse.unquote(name), dict(urllib.parse.parse_qsl(url.query))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.refuse(401, "InvalidAccessToken")
        if bucket != BUCKET:
            return self.refuse(404, "NoSuchBucket")
        if not name:
            return self.list(query)
        if self.command == "PUT":
            return self.put(name, given)
        if name not in objects:
            return self.refuse(404, "NoSuchKey")
        if self.command == "DELETE":
            del objects[name]
            return self.answer(204)
        return self.get(objects[name], name)

    do_GET = do_HEAD = do_PUT = do_DELETE = handle_any

    def about(self, name):
        return [("ETag", f'"{hashlib.md5(objects[name]).hexdigest()}"'), ("x-goog-generation", str(generations[name])),
                ("Last-Modified", "Wed, 21 Oct 2026 07:28:00 GMT")]

    def put(self, name, given):
        # The only condition that a backup makes: there must be no such object.
        if self.headers.get("x-goog-if-generation-match") == "0" and name in objects:
            return self.refuse(412, "PreconditionFailed")
        generations[name] = generations.get(name, 0) + 1
        objects[name] = given
        self.answer(200, headers=self.about(name))

    def get(self, data, name):
        headers = self.about(name)
        if self.headers.get("Range"):
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            last = min(int(last), len(data) - 1)
            headers.append(("Content-Range", f"bytes {first}-{last}/{len(data)}"))
            return self.answer(206, data[int(first):last + 1], headers)
        self.answer(200, data, headers, send=self.command == "GET")

    def list(self, query):
        after = query.get("continuation-token", "")
        names = sorted(name for name in objects if name.startswith(query.get("prefix", "")) and name > after)
        page = names[:PAGE]
        parts = [f"<Contents><Key>{escape(name)}</Key><LastModified>2026-10-21T07:28:00.000Z</LastModified>"
                 f"<Size>{len(objects[name])}</Size></Contents>" for name in page]
        if len(names) > PAGE:
            parts.append(f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>")
        self.answer(200, f"<?xml version='1.0'?><ListBucketResult>{''.join(parts)}</ListBucketResult>".encode())

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
