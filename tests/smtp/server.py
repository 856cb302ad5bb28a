#!/usr/bin/env python3
"""An SMTP server for the tests of mail: aiosmtpd, which reports on its standard output what it receives.

The first line is `listening PORT`, then one JSON object for each mail that was accepted, and one for
each log-in and each refusal. The part before the @ decides how it treats a recipient:

    later-N@..   refused N times with a 4xx, then accepted
    never@..     refused with a 5xx
    spam@..      accepted, and refused with a 5xx when the mail is there
    slow@..      answered after a minute
    cut@..       the connection ends instead of an answer, the first time, when the mail is there
"""

import argparse
import asyncio
import json
import re
import ssl

from aiosmtpd.smtp import SMTP, AuthResult


def report(**what):
    print(json.dumps(what), flush=True)


class Handler:
    def __init__(self):
        self.tries = {}

    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.partition("@")[0]
        self.tries[address] = self.tries.get(address, 0) + 1
        later = re.fullmatch(r"later-(\d+)", name)
        if later and self.tries[address] <= int(later[1]):
            report(refused=address, code=451)
            return f"451 4.7.1 <{address}> come back later"
        if name == "never":
            report(refused=address, code=550)
            return f"550 5.1.1 <{address}> is nobody here"
        if name == "slow":
            report(slow=address)
            await asyncio.sleep(60)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        [address] = envelope.rcpt_tos
        name = address.partition("@")[0]
        if name == "spam":
            report(refused=address, code=554)
            return f"554 5.7.1 not for <{address}>"
        report(
            mail=envelope.content.decode("utf-8"), sender=envelope.mail_from, to=address,
            tls=session.ssl is not None, user=session.auth_data or "",
        )
        if name == "cut" and self.tries[address] == 1:
            server.transport.abort()
        return "250 OK"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--user")
    parser.add_argument("--password")
    parser.add_argument("--certificate", help="PEM; with it there is STARTTLS, and nothing without it")
    parser.add_argument("--key")
    parser.add_argument("--no-utf8", action="store_true")
    options = parser.parse_args()

    context = None
    if options.certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(options.certificate, options.key)

    def authenticate(server, session, envelope, mechanism, data):
        good = data.login.decode() == options.user and data.password.decode() == options.password
        report(login=data.login.decode(), good=good)
        return AuthResult(success=good, handled=False, auth_data=data.login.decode())

    handler = Handler()

    def connection():
        return SMTP(
            handler, hostname="mx.test", enable_SMTPUTF8=not options.no_utf8, tls_context=context,
            require_starttls=context is not None, auth_required=options.user is not None,
            auth_require_tls=False, authenticator=authenticate,
        )

    async def serve():
        loop = asyncio.get_running_loop()
        server = await loop.create_server(connection, "127.0.0.1", options.port)
        print(f"listening {server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
