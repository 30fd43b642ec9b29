"""The simulated server: one endpoint that answers like a model, and what stands around it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from evalstab.chat import Json
from evalstab.sim import refusals
from evalstab.sim.answering import Plan, plan
from evalstab.sim.introspection import routes
from evalstab.sim.refusals import Refusal
from evalstab.sim.sending import send_stream, send_whole
from evalstab.sim.truth import TruthFile
from evalstab.sim.world import Settings, World
