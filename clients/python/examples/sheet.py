"""The prices of a match as CSV, for a spreadsheet: python sheet.py football/204849 8765

Excel: Data, From Web, http://127.0.0.1:8765/, and refresh every minute. LibreOffice: Sheet, Link to External Data.
Google Sheets needs an address that Google can reach: =IMPORTDATA("https://…/").
"""

import csv
import io
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from matchwire.odds import COLUMNS, rows
from matchwire.sync import Client


def serve(match: str, port: int) -> None:
    url = os.environ.get("MATCHWIRE_URL", "ws://127.0.0.1:8080")
    with Client(url, key=os.environ["MATCHWIRE_KEY"]) as hub:
        book = hub.odds(match)

        class Sheet(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                text = io.StringIO()
                table = csv.DictWriter(text, ["health", *COLUMNS])
                table.writeheader()
                table.writerows({"health": book.health, **row} for row in rows(book.data, floats=False))
                body = text.getvalue().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/csv; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        with ThreadingHTTPServer(("127.0.0.1", port), Sheet) as server:
            print(f"http://127.0.0.1:{server.server_port}/", flush=True)
            server.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
