# SPDX-License-Identifier: MIT OR Apache-2.0
"""An SMTP server on this port that refuses some recipients, as mail servers do."""

import asyncio
import sys

from aiosmtpd.smtp import SMTP


class Mailboxes:
    async def handle_RCPT(self, server, session, envelope, address, options):
        answers = {
            "unknown": "550 5.1.1 No such mailbox",
            "full": "452 4.3.1 Insufficient system storage",
            "greylisted": "450 4.7.1 Try again later",
            "closing": "421 4.3.2 Closing",
        }
        if address.startswith("slow@"):
            await asyncio.sleep(2)
        answer = answers.get(address.split("@")[0])
        if answer:
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        # The subject, so that a test sees whose answer it reads.
        text = envelope.content.decode()
        subject = next(line for line in text.splitlines() if line.startswith("Subject: "))
        return "250 " + subject.removeprefix("Subject: ")


async def serve():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Mailboxes()), "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(serve())
