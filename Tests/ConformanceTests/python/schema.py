"""The server API held against docs/openapi.json: schemathesis makes up calls of every operation, good ones and bad ones,
and each answer has to be one that the document describes, and none a failure of the server.

By hand: ADMIN_URL=http://127.0.0.1:9000 API_KEY=… python schema.py
The calls publish, revoke tokens and send people away: point it at no server that anybody uses.
"""

import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

URL = os.environ["ADMIN_URL"]
KEY = os.environ["API_KEY"]
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "openapi.json"

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
OPTIONS = {
    "--url": URL,
    "--header": f"X-API-Key: {KEY}",
    "--checks": CHECKS,
    # The document's own examples, then each limit from both sides, then calls made up by chance.
    "--phases": "examples,coverage,fuzzing",
    "--mode": "all",
    "--max-examples": "15",
    "--seed": "20261123",
    # One at a time: what goes before a failure is the same each time.
    "--workers": "1",
    "--request-timeout": "60",
    "--generation-database": "none",
    # Without these it would send keys of its own beside ours.
    "--generation-with-security-parameters": "false",
    # How long it takes to make up a call is not what is tested.
    "--suppress-health-check": "all",
    "--warnings": "off",
}


def fail(sentence):
    print(f"failed: {sentence}", flush=True)
    sys.exit(1)


def served():
    """The document as the server gives it out."""
    # No proxy: the server is on this machine, whatever proxy the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{URL}/api/openapi.json", timeout=60) as answer:
        return answer.read()


if served() != DOCUMENT.read_bytes():
    fail(f"the server gives out another document than {DOCUMENT}; run make openapi and build it again")
print("ok: the server gives out the document of the repository", flush=True)

arguments = [word for option in OPTIONS.items() for word in option]
# In a folder of its own, where it finds no settings and may leave what it likes.
with tempfile.TemporaryDirectory() as folder:
    run = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "run", str(DOCUMENT), *arguments, "--no-color"],
        cwd=folder, env={**os.environ, "NO_PROXY": "*", "no_proxy": "*"}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=900)
if run.returncode != 0:
    print(run.stdout)
    fail(f"schemathesis ended with {run.returncode}; what it found stands above, with the call that shows it")
print("ok: every answer to the calls of schemathesis is one that docs/openapi.json describes", flush=True)
