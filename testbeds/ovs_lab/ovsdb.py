# SPDX-License-Identifier: BSD-3-Clause
"""Reads tables of Open vSwitch's database (RFC 7047)."""

import json
import socket

DATABASE = "Open_vSwitch"
TIMEOUT_SECONDS = 5


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT_SECONDS)
        self.socket.connect(str(path))
        self.decoder = json.JSONDecoder()
        self.text = ""
        self.number = 0

    def close(self):
        self.socket.close()

    def receive(self):
        """The next message. Messages follow each other without separators."""
        while True:
            try:
                message, end = self.decoder.raw_decode(self.text)
                self.text = self.text[end:].lstrip()
                return message
            except ValueError:
                part = self.socket.recv(1 << 16)
                if not part:
                    raise OSError("the database server closed the connection") from None
                self.text += part.decode()

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode())

    def select(self, table, columns):
        """The rows of a table."""
        self.number += 1
        self.send({"method": "transact", "id": self.number, "params": [
            DATABASE, {"op": "select", "table": table, "where": [], "columns": list(columns)}]})
        while True:
            message = self.receive()
            if message.get("method") == "echo":
                self.send({"result": message["params"], "error": None, "id": message["id"]})
            elif message.get("id") == self.number:
                result = message["result"][0]
                if "error" in result:
                    raise OSError(f"the database server answered: {result['error']}")
                return result["rows"]
