"""A client of the REST interface, written only from its documentation.

It holds a base URL and a key. Lists are read page by page by following `next`; errors are exceptions
with the status, the `code` and the whole body. An address that is too fast gets 429, and
the client waits for the delay that it names.
"""

import time

import httpx

TIMEOUT_S = 60
# No list of a demo hub has more; one that has is read no further.
PAGES_MAX = 300
# So often a request is sent again after a 429, and so long it waits for that at most: a day's quota that
# is used up is not waited for.
TRIES_MAX, WAIT_S_MAX = 20, 5


class ApiError(Exception):
    """An answer of 400 or above."""

    def __init__(self, response):
        self.status = response.status_code
        try:
            self.body = response.json()
        except ValueError:
            self.body = None
        self.code = self.body.get("code") if isinstance(self.body, dict) else None
        self.retry_after = response.headers.get("retry-after")
        super().__init__(f"{response.request.method} {response.request.url.path}: {self.status} {response.text[:300]}")


class Patient(httpx.HTTPTransport):
    """Repeats a request after a 429, at the time that the hub names."""

    def handle_request(self, request):
        for _ in range(TRIES_MAX):
            response = super().handle_request(request)
            wait = response.headers.get("retry-after", "")
            if response.status_code != 429 or not wait.isdigit() or int(wait) > WAIT_S_MAX:
                return response
            response.close()
            time.sleep(int(wait))
        return super().handle_request(request)


class Client:
    """`style` is how the key is sent: `Token` and `Bearer` are headers, `query` is `?token=`."""

    def __init__(self, base_url, key=None, style="Token"):
        headers, self.query = {}, {}
        if key is not None and style == "query":
            self.query = {"token": key}
        elif key is not None:
            headers["Authorization"] = f"{style} {key}"
        self.http = httpx.Client(base_url=base_url, headers=headers, timeout=TIMEOUT_S, transport=Patient())

    def send(self, method, path, params=None, **options):
        """The answer, with any status."""
        params = {**self.query, **(params or {})}
        return self.http.request(method, path, params=params or None, **options)

    def get(self, path, **params):
        """The body of a good answer."""
        response = self.send("GET", path, params)
        if response.status_code >= 400:
            raise ApiError(response)
        return response.json()

    def refused(self, path, **params):
        """The error that the hub answers with."""
        response = self.send("GET", path, params)
        if response.status_code < 400:
            raise AssertionError(f"expected a refusal of {path}, came {response.status_code} {response.text[:200]}")
        return ApiError(response)

    def pages(self, path, **params):
        """Each page of a list, by `next`, which is followed as it is."""
        page = self.get(path, **params)
        for _ in range(PAGES_MAX):
            yield page
            if page["next"] is None:
                return
            response = self.http.get(page["next"])
            if response.status_code >= 400:
                raise ApiError(response)
            page = response.json()
        raise AssertionError(f"{path} has more than {PAGES_MAX} pages")

    def all(self, path, **params):
        """All rows of a list."""
        return [row for page in self.pages(path, **params) for row in page["results"]]
