"""Secrets out of anything that is written or shown, before the first byte of it is written.

Two nets, one behind the other. By *name and shape*: environment variables, flags, headers and JSON
keys whose name says secret, credentials of known shape, user and password in addresses. By *value*:
whatever this process knows to be secret (``remember``) is replaced wherever it turns up, even where
a hostile server or model sends it back.

What is taken out leaves a mark with a short keyed hash: equal marks mean the same secret, and
without the key (``redaction.key`` in the user's configuration folder, 0600) a short secret cannot
be guessed from it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

SHORTEST = 6
"""A value below this length is not searched for in texts: it would be found everywhere."""

PLACEHOLDERS = {"ollama", "lm-studio", "not-needed", "no-key", "not-set", "sk-no-key-required"}
"""What people write where no key is needed; no secrets."""

_WORDS = (
    "token|secrets?|passw(?:or)?d|pwd?|passphrase|api_?key|access_?key|secret_?key|private_?key|"
    "signing_?key|master_?key|credentials?|creds|pat|bearer|cookie|webhook(?:_url)?|dsn|"
    "license_?key|authorization"
)
_NAME = re.compile(rf"(?:^|[_.-])(?:{_WORDS})(?:$|[_.-])|.[_.-](?:key|pass|auth)$", re.IGNORECASE)
_GLUED = re.compile(r"(?:password|passwd|passphrase|secret|apikey|accesstoken)$", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_VARIABLE = re.compile(r"(?:^|_)PWD?(?:_|$)|(?<!BY)PASS|SECRET|TOKEN(?!S|IZ)|KEY", re.IGNORECASE)
"""Variables of a foreign process: rather one mark too many than one secret written."""
_KEPT = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK"})

_SHAPES = re.compile(
    r"hf_[A-Za-z0-9]{30,}|sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_\w{20,}|glpat-[\w-]{16,}|nvapi-[\w-]{20,}|xox[abprs]-[\w-]+|AKIA[0-9A-Z]{16}"
    r"|AIza[\w-]{30,}|eyJ(?:(?<![\w-]eyJ)|(?<=\\[bfnrt]eyJ))[\w-]+\.[\w-]+\.[\w-]+"
)
_USERINFO = re.compile(r"(?<=://)[^/\s\"'?#<>]+(?=@)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+([A-Za-z0-9._~+/=-]{4,})")
_LEAD = re.compile(r"(?<![\w.])([A-Za-z][\w.-]{0,80})(?:\\{0,3}[\"']?\s{0,3}[=:]\s{0,3})")
_VALUE = re.compile(
    r"(\\{0,3}\")([^\"\\\n]{1,4000})|(\\{0,3}')([^'\\\n]{1,4000})|([^\s\"',;&}\\]+)"
)
_FLAG = re.compile(r"(?<=\s)(-{1,2})([A-Za-z][\w-]{0,60})(\s+)([^\s-][^\s]*)")
_SHORT_FLAGS = frozenset({"hft"})
MARK = "<redacted"


class Redactor:
    """Takes secrets out; ``key`` makes the marks comparable, without one they are bare."""

    def __init__(self, key: bytes | None) -> None:
        self._key = key

    def mark(self, secret: str) -> str:
        """What stands in place of a secret: equal for equal secrets under one key."""
        if self._key is None:
            return f"{MARK}>"
        code = hmac.new(self._key, secret.encode("utf-8", "surrogateescape"), hashlib.sha256)
        return f"{MARK} hmac:{code.hexdigest()[:8]}>"

    def env(self, environ: Mapping[str, str]) -> dict[str, str]:
        """An environment without its secrets; what is taken out is remembered."""
        done = {name: self._named(name, value) for name, value in environ.items()}
        hidden = (name for name in done if _VARIABLE.search(name) and name not in _KEPT)
        return done | {name: self._taken(done[name]) for name in hidden}

    def argv(self, argv: Sequence[str]) -> list[str]:
        """A command line, argument by argument, without its secrets."""
        done: list[str] = []
        secret_next = False
        for argument in argv:
            if secret_next and not argument.startswith("--"):
                remember(argument)
                done.append(self._taken(argument))
                secret_next = False
                continue
            secret_next = _secret_flag(argument)
            done.append(self.text(argument))
        return done

    def text(self, text: str) -> str:
        """Free text (a shell command, a log line, a file) without whatever looks like a secret."""
        text = scrub_text(text)
        text = _SHAPES.sub(lambda m: self._taken(m[0]), text)
        text = _USERINFO.sub(lambda m: self._taken(m[0]), text)
        text = _BEARER.sub(lambda m: f"{m[1]} {self._taken(m[2])}", text)
        return _FLAG.sub(self._flagged, self._assignments(text))

    def shapes(self, text: str) -> str:
        """Text (also JSON) without known secrets and credentials of known shape; names and all
        else stay, so that what a model wrote remains what it wrote."""
        return _SHAPES.sub(lambda m: self._taken(m[0]), scrub_text(text))

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where ``shapes`` would change a text, in order: start, end, and what it puts there."""
        found = [(*m.span(), self._taken(m[0])) for m in _SHAPES.finditer(text)]
        if scrub_text(text) != text:
            found += _known_spans(text)
        spans: list[tuple[int, int, str]] = []
        for start, end, mark in sorted(found, key=lambda span: (span[0], -span[1])):
            within = bool(spans) and start < spans[-1][1]
            first = spans.pop() if within else (start, end, mark)
            spans.append((first[0], max(end, first[1]), first[2]))
        return spans

    def json(self, value: Any) -> Any:
        """Plain data, keys read as names; numbers and truth values stay."""
        if isinstance(value, Mapping):
            return {
                key: self._under(str(key), item) if is_secret_name(str(key)) else self.json(item)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.json(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _under(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        return self._named(name, value) if isinstance(value, str) else self._taken(repr(value))

    def _named(self, name: str, value: str) -> str:
        if value and is_secret_name(name):
            remember(value)
            return self._taken(value)
        return self.text(value)

    def _assignments(self, text: str) -> str:
        """``NAME=value``, ``"name": "value"`` and their like, also within quoted JSON."""
        pieces: list[str] = []
        done = 0
        for lead in _LEAD.finditer(text):
            if lead.start() < done or not is_secret_name(lead[1]):
                continue
            found = _VALUE.match(text, lead.end())
            if found is None:
                continue
            opening = found[1] or found[3] or ""
            value = found[2] or found[4] or found[5]
            if value.lower() in ("bearer", "basic"):
                continue
            pieces += [text[done : lead.end()], opening, self._taken(value)]
            done = found.end()
        return "".join([*pieces, text[done:]])

    def _flagged(self, found: re.Match[str]) -> str:
        dashes, name, space, value = found.groups()
        if not _secret_flag(dashes + name):
            return found[0]
        return f"{dashes}{name}{space}{self._taken(value)}"

    def _taken(self, secret: str) -> str:
        return secret if MARK in secret or not secret else self.mark(secret)


def is_secret_name(name: str) -> bool:
    """Whether a variable, flag, header or key of this name holds a secret."""
    plain = _CAMEL.sub("_", name)
    return name not in _KEPT and bool(_NAME.search(plain) or _GLUED.search(plain))


def _secret_flag(argument: str) -> bool:
    if "=" in argument or not argument.startswith("-"):
        return False
    name = argument.lstrip("-")
    return name in _SHORT_FLAGS or (argument.startswith("--") and is_secret_name(name))


@cache
def redactor() -> Redactor:
    """The redactor with this user's key, which is made at the first call."""
    return Redactor(_user_key(config_folder()))


def config_folder() -> Path:
    """Where this user's own files of ours are: ``$XDG_CONFIG_HOME/evalstab``."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "evalstab"


def _user_key(folder: Path) -> bytes | None:
    path = folder / "redaction.key"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        if not path.exists():
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(32))
            try:
                os.link(fresh, path)
            except FileExistsError:
                pass
            finally:
                fresh.unlink()
        return path.read_bytes().strip() or None
    except OSError:
        return None


_known: dict[bytes, bytes] = {}
"""Longest first, since a secret may hold another one; replaced whole, since threads read it."""


def remember(*values: str | None) -> None:
    """From now on these values are secrets wherever they turn up in this process's output."""
    forms: dict[bytes, bytes] = {}
    for value in values:
        if not value or len(value) < SHORTEST or value in PLACEHOLDERS or MARK in value:
            continue
        if value.encode("utf-8", "surrogateescape") not in _known:
            forms |= dict.fromkeys(_forms(value), redactor().mark(value).encode())
    if forms:
        adopt(forms | _known)


def remember_headers(headers: Mapping[str, str]) -> None:
    """Header values are secrets by their name, or where they look like no ordinary word."""
    for name, value in headers.items():
        scheme, space, credential = value.partition(" ")
        if is_secret_name(name) or _looks_random(value):
            remember(value)
            if space and scheme.lower() in ("bearer", "basic", "token"):
                remember(credential)


def scrub(data: bytes) -> bytes:
    """Bytes (also JSON, also JSON within JSON) without any remembered secret."""
    for form, mark in _known.items():
        if form in data:
            data = data.replace(form, mark)
    return data


def scrub_text(text: str) -> str:
    """Text without any remembered secret."""
    if not _known:
        return text
    clean = scrub(raw := text.encode("utf-8", "surrogatepass"))
    return text if clean == raw else clean.decode("utf-8", "surrogatepass")


def _known_spans(text: str) -> Iterable[tuple[int, int, str]]:
    for form, mark in _known.items():
        secret = re.escape(form.decode("utf-8", "surrogateescape"))
        yield from ((*found.span(), mark.decode()) for found in re.finditer(secret, text))


def remembers() -> bool:
    """Whether there is anything to scrub at all."""
    return bool(_known)


def known() -> dict[bytes, bytes]:
    """All forms of what is remembered, with marks: for a process of our own, never for a file."""
    return _known


def adopt(forms: Mapping[bytes, bytes]) -> None:
    """Remember what another process of ours remembers."""
    global _known  # noqa: PLW0603
    every = _known | dict(forms)
    _known = {form: every[form] for form in sorted(every, key=len, reverse=True)}


def _forms(value: str) -> Iterable[bytes]:
    raw = value.encode("utf-8", "surrogateescape")
    yield raw
    for plain in (False, True):
        once = json.dumps(value, ensure_ascii=plain)[1:-1]
        twice = json.dumps(once, ensure_ascii=plain)[1:-1]
        yield once.encode("utf-8", "surrogateescape")
        yield twice.encode("utf-8", "surrogateescape")
    yield quote(raw, safe="").encode()
    if len(raw) >= 8:
        yield base64.b64encode(raw).rstrip(b"=")


def _looks_random(value: str) -> bool:
    return (
        len(value) >= 12
        and " " not in value
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
    )
