"""A small agent program of the tests' own: one bash tool, plain HTTP, not streamed.

usage: small_agent.py BASE_URL MODEL PROMPT [compact|hang|silent|fail]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from typing import Any

TOOL = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
}


def ask(base_url: str, model: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    body = {"model": model, "messages": messages, "tools": [TOOL]}
    request = urllib.request.Request(
        f"{base_url}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer none"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        message: dict[str, Any] = json.loads(answer.read())["choices"][0]["message"]
        return message


def run(command: str) -> str:
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode == 0 else f"Error: {done.stderr}"


def main(base_url: str, model: str, prompt: str, mode: str = "") -> int:
    if mode == "silent":
        print("no address, no question")
        return 3
    if mode == "hang":
        subprocess.Popen(["sleep", "300"])
    opening = [{"role": "system", "content": "Use bash."}, {"role": "user", "content": prompt}]
    messages: list[dict[str, Any]] = list(opening)
    for step in range(40):
        said = ask(base_url, model, messages)
        messages.append({k: v for k, v in said.items() if k in ("role", "content", "tool_calls")})
        if mode == "hang" and step == 1:
            time.sleep(300)
        calls = said.get("tool_calls") or []
        if not calls:
            print(said["content"])
            return 7 if mode == "fail" else 0
        for call in calls:
            command = json.loads(call["function"]["arguments"])["command"]
            answer = {"role": "tool", "tool_call_id": call["id"], "content": run(command)}
            messages.append(answer)
        if mode == "compact" and step == 1:
            messages = [*opening[:1], {"role": "user", "content": "So far: begun.\n\n" + prompt}]
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
