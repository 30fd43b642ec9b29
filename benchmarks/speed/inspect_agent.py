"""The scripted agent in inspect, run by inspect's own Python: URL MODEL TRIALS STREAM → JSON."""

import json
import sys
import tempfile
import time

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, execute_tools, get_model
from inspect_ai.solver import solver
from inspect_ai.tool import tool


@tool
def list_files():
    async def execute() -> str:
        """List the files."""
        return "note.md"

    return execute


@solver
def agent():
    """Ask until an answer brings no call."""

    async def solve(state, _generate):
        tools = [list_files()]
        while True:
            output = await get_model().generate(state.messages, tools=tools)
            state.messages.append(output.message)
            if not output.message.tool_calls:
                return state
            results, _ = await execute_tools(state.messages, tools)
            state.messages.extend(results)

    return solve


def main() -> None:
    url, name, trials, stream = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "True"
    model = get_model(
        f"openai-api/bench/{name}",
        base_url=url,
        api_key="none",
        stream=stream,
        config=GenerateConfig(max_connections=1),
    )
    samples = [Sample(input="List the files again and again.") for _ in range(trials)]
    wall, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as place:
        logs = eval(
            Task(dataset=samples, solver=agent()),
            model=model,
            log_dir=place,
            display="none",
            max_samples=1,
            score=False,
        )
    assert logs[0].status == "success", logs[0].error
    told = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    print("RESULT " + json.dumps(told))


main()
