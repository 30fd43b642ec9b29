"""The texts of a new evalstab.toml."""

from __future__ import annotations

CONFIG = """\
# evalstab.toml: endpoints, gates, nights. Flags and EVALSTAB_* variables override what stands here.
# All keys: docs/reference.md. What a server is asked for and what it was started with are two
# things: `evalstab check --endpoint NAME` shows both.

{endpoints}
# A gate of your own; `nightly` and `acceptance` are built in (evalstab plan --gate nightly).
# [gates.mine]
# repeats = 5
# rules = [
#   {{ name = "tau",      metric = "stability.kendall_tau.mean", min = 0.5 }},
#   {{ name = "complete", count = "deliverables_incomplete", at_most = 0 }},
# ]

[nightly]
budget = "6h"                        # no trial begins after it
# webhook_env = "EVALSTAB_WEBHOOK"   # the variable with the address of your chat's webhook
# prometheus = "/var/lib/node_exporter/evalstab.prom"
# junit = "out/junit.xml"
# lock = "/run/lock/gpu-rig.lock"    # a lock that other users of the rig take too
series = [
{series}
  # {{ task = "eleven-profiles", endpoint = {endpoint}, context = ["16k", "80k"], repeats = 5,
  #   gate = "nightly", baseline = "reports/baselines/NAME" }},
]
"""

ENDPOINT = """\
[endpoints.{name}]
{about}
base_url = {base_url}
{rest}
# sampling = {{ temperature = 0.6, top_p = 0.95 }}   # not set: the server's own defaults hold
# extra_body = {{ top_k = 40, min_p = 0.01 }}
# thinking = "auto"                                # on | off | auto
# tool_choice = "auto"                             # small models may need "required"
# timeouts = {{ connect = 10, idle = 600 }}
"""

NO_SERVER = """\
# No server was found on the usual ports of this machine. Write where yours is, and use its name
# below in place of the simulated endpoint:
# [endpoints.rig]
# base_url = "http://localhost:8000/v1"
# model = "my-model"
# api_key_env = "RIG_KEY"            # the name of the variable, never the key itself
# launch = { container = "NAME" }    # or unit = ..., ssh = "rig1", declared = "launch.yaml"
# hardware = { expect_gpus = 8, watch = true }
"""
